"""Ends in order on SIGTERM and Ctrl-C: what is in hand is finished and committed, then it leaves.

``wakeup()`` ends the wait of a poll, and may be called from anywhere, so from a signal handler. A
member that leaves in order is missed at once; of one that is killed the group learns only when its
session is over.

    python poll_graceful_stop.py kafka1:9092,kafka2:9092 orders index orders.log
"""

import argparse
import signal
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from zkconsumer import ConsumerRecord, KafkaConsumer, Woken


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What is to be done with a record: here, write it down."""
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until a signal comes."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        value_deserializer=bytes.decode,
        **settings,
    )

    def stop(_number: int, _frame: FrameType | None) -> None:
        consumer.wakeup()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    # Leaving the block closes the consumer: it leaves the group and ends its threads.
    with consumer, Path(target).open("a") as file:
        try:
            while True:
                for records in consumer.poll(timeout_ms=60_000).values():
                    for record in records:
                        work(record, file)
                consumer.commit()
        except Woken:
            pass  # it ends polls, never commits: what was handed out is done and committed


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record at least once, and an orderly end")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
