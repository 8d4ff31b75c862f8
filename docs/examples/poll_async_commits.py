"""At least once without waiting for commits: they go along with the work, and the last one is sure.

What is committed is what is done, never what is only handed out. Before partitions are given up,
and at the end, one commit is waited for: so an orderly hand-over repeats nothing.

    python poll_async_commits.py kafka1:9092,kafka2:9092 orders index orders.log
"""

import argparse
import logging
from collections.abc import Collection, Mapping
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

log = logging.getLogger(__name__)
Offsets = Mapping[TopicPartition, OffsetAndMetadata]


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What is to be done with a record: here, write it down."""
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


class Done(ConsumerRebalanceListener):
    """What is done and not yet known to be committed, by partition."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer
        self._offsets: dict[TopicPartition, OffsetAndMetadata] = {}

    def note(self, record: ConsumerRecord) -> None:
        """This record is done."""
        self._offsets[record.topic_partition] = OffsetAndMetadata(record.offset + 1)

    def commit_soon(self) -> None:
        """Send a commit and go on."""
        sent = dict(self._offsets)
        if sent:
            self._consumer.commit_async(sent, callback=self._on_response)

    def _on_response(self, offsets: Offsets, error: Exception | None) -> None:
        if error is not None:
            # Not tried again: the next commit is already on its way, and has more.
            log.warning("a commit failed: %s", error)
            return
        for place, committed in offsets.items():
            if self._offsets.get(place) == committed:
                del self._offsets[place]

    def commit_now(self, places: Collection[TopicPartition]) -> None:
        """Commit what is done of these partitions, and wait for it."""
        mine = {place: self._offsets.pop(place) for place in places if place in self._offsets}
        if mine:
            try:
                self._consumer.commit(mine)
            except CommitFailed as error:
                log.warning("the last commit failed: %s", error)

    def commit_all(self) -> None:
        """The same of all partitions."""
        self.commit_now(list(self._offsets))

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Others will have them: the last moment in which a commit of ours counts."""
        self.commit_now(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Others have them already: a commit would be refused."""
        for place in lost:
            self._offsets.pop(place, None)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """They are read from what was committed of them."""


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=100,
        value_deserializer=bytes.decode,
        **settings,
    )
    done = Done(consumer)
    with consumer, Path(target).open("a") as file:
        consumer.subscribe([topic], listener=done)
        try:
            while True:
                for records in consumer.poll(timeout_ms=1000).values():
                    for record in records:
                        work(record, file)
                        done.note(record)
                done.commit_soon()
        finally:
            done.commit_all()


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record at least once, commits on the way")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
