"""Work that takes longer than ``max.poll.interval.ms``: it goes on in threads while we poll.

A member that does not poll is thrown out of its group. So records are handed to threads, a
partition at a time to one of them, and that partition is paused until they are done and committed;
polling goes on meanwhile and brings records of the others. Before a partition is given up, what
the threads have of it is finished.

    python poll_slow_handler.py kafka1:9092,kafka2:9092 videos transcoders done.log
"""

import argparse
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TextIO

from zkconsumer import (
    CommitFailed,
    ConsumerRebalanceListener,
    ConsumerRecord,
    KafkaConsumer,
    OffsetAndMetadata,
    TopicPartition,
)

THREADS = 4


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What takes long."""
    time.sleep(1)  # noqa: TID251 - stands for the work
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


class Workers(ConsumerRebalanceListener):
    """The threads, and what they have in hand."""

    def __init__(self, consumer: KafkaConsumer, pool: ThreadPoolExecutor, file: TextIO) -> None:
        self._consumer = consumer
        self._pool = pool
        self._file = file
        self._running: dict[TopicPartition, Future[OffsetAndMetadata]] = {}

    def take(self, place: TopicPartition, records: list[ConsumerRecord]) -> None:
        """Have them worked on; the partition brings no more until they are done."""
        self._consumer.pause(place)
        self._running[place] = self._pool.submit(self._work, records)

    def _work(self, records: list[ConsumerRecord]) -> OffsetAndMetadata:
        for record in records:
            work(record, self._file)
        return OffsetAndMetadata(records[-1].offset + 1)

    def settle(self) -> None:
        """Commit what is done, and have more of it."""
        done = {place: one.result() for place, one in self._running.items() if one.done()}
        if not done:
            return
        try:
            self._consumer.commit(done)
        except CommitFailed:
            return  # the next poll takes part in the rebalance; what is ours then comes after it
        for place in done:
            del self._running[place]
        self._consumer.resume(*done)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Finish what is under way; the group waits for it, up to ``max.poll.interval.ms``."""
        wait([self._running[place] for place in revoked if place in self._running])
        self.settle()
        self.forget(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Others have them already, and do this work again."""
        self.forget(lost)

    def forget(self, places: Collection[TopicPartition]) -> None:
        """What they had in hand is no longer ours to commit."""
        for place in places:
            one = self._running.pop(place, None)
            if one is not None:
                one.cancel()

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """They come unpaused."""


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=10,
        value_deserializer=bytes.decode,
        **settings,
    )
    with Path(target).open("a") as file, ThreadPoolExecutor(THREADS) as pool, consumer:
        workers = Workers(consumer, pool, file)
        consumer.subscribe([topic], listener=workers)
        while True:
            for place, records in consumer.poll(timeout_ms=200).items():
                workers.take(place, records)
            workers.settle()


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="slow work, without leaving the group")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
