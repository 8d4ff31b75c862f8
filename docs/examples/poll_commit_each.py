"""At least once, with a commit for each record: a crash repeats one record of each partition.

For work that takes long and is dear to repeat. A commit is a round trip to the coordinator, half a
millisecond at best, so this is not for work that is quicker than that.

    python poll_commit_each.py kafka1:9092,kafka2:9092 orders invoices invoices.log
"""

import argparse
import logging
from pathlib import Path
from typing import Any, TextIO

from zkconsumer import CommitFailed, ConsumerRecord, KafkaConsumer, OffsetAndMetadata

log = logging.getLogger(__name__)


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What is to be done with a record: here, write it down."""
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


def work_and_commit(consumer: KafkaConsumer, records: list[ConsumerRecord], file: TextIO) -> None:
    """One after the other; stops where another member has them now."""
    for record in records:
        work(record, file)
        # What is committed is the next offset to read.
        done = {record.topic_partition: OffsetAndMetadata(record.offset + 1)}
        try:
            consumer.commit(done)
        except CommitFailed as error:
            log.warning("not committed: %s", error)
            if record.topic_partition in consumer.assignment():
                consumer.seek(record.topic_partition, record.offset + 1)
            return


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=20,  # all of them must be done within max.poll.interval.ms
        value_deserializer=bytes.decode,
        **settings,
    )
    with consumer, Path(target).open("a") as file:
        while True:
            for records in consumer.poll(timeout_ms=1000).values():
                work_and_commit(consumer, records, file)


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record at least once, committed alone")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
