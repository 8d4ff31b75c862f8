"""At least once: do the work, then commit. Nothing is lost; a crash repeats what was in hand.

For work that may come twice: an index, an upsert, a file per record.

    python poll_at_least_once.py kafka1:9092,kafka2:9092 orders index orders.log
"""

import argparse
import logging
from pathlib import Path
from typing import Any, TextIO

from zkconsumer import CommitFailed, ConsumerRecord, KafkaConsumer

log = logging.getLogger(__name__)


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What is to be done with a record: here, write it down."""
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=100,  # so many come again at most, after each crash
        value_deserializer=bytes.decode,
        **settings,
    )
    with consumer, Path(target).open("a") as file:
        while True:
            found = consumer.poll(timeout_ms=1000)
            for records in found.values():
                for record in records:
                    work(record, file)
            if found:
                try:
                    consumer.commit()
                except CommitFailed as error:
                    # What another member has now it does again; what is ours stays uncommitted
                    # until the next commit.
                    log.warning("not committed: %s", error)


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record at least once")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
