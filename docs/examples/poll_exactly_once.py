"""Exactly once: results and offsets are written in one transaction, in one database.

The group only says who reads what; where to go on is in the database. So whatever is killed at
whatever moment, each record is in the results once. A former owner that still has records in hand
can't write them a second time either: what is below the offset in the database is there already.

    python poll_exactly_once.py kafka1:9092,kafka2:9092 orders archive orders.db
"""

import argparse
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Any

from zkconsumer import ConsumerRebalanceListener, ConsumerRecord, KafkaConsumer, TopicPartition

TABLES = """
create table if not exists lines (topic, part integer, at integer, value);
create table if not exists places (topic, part integer, next integer, primary key (topic, part));
"""


def open_database(target: str) -> sqlite3.Connection:
    """The database, with its tables; several members may write into it."""
    database = sqlite3.connect(target, timeout=30, isolation_level=None)
    database.execute("pragma journal_mode = wal")
    database.executescript(TABLES)
    return database


def next_offset(database: sqlite3.Connection, place: TopicPartition) -> int | None:
    """Where reading goes on; None where nothing was read yet."""
    row = database.execute(
        "select next from places where topic = ? and part = ?", (place.topic, place.partition)
    ).fetchone()
    return None if row is None else int(row[0])


def store(database: sqlite3.Connection, records: Sequence[ConsumerRecord]) -> None:
    """Records of one partition, and where it goes on behind them: both or nothing."""
    place = records[0].topic_partition
    database.execute("begin immediate")  # nobody else writes until its end
    try:
        known = next_offset(database, place) or 0
        database.executemany(
            "insert into lines values (?, ?, ?, ?)",
            [(*place, record.offset, record.value) for record in records if record.offset >= known],
        )
        behind = max(known, records[-1].offset + 1)
        database.execute("replace into places values (?, ?, ?)", (*place, behind))
        database.execute("commit")
    except BaseException:
        database.execute("rollback")
        raise


class Places(ConsumerRebalanceListener):
    """Starts each partition where the database says."""

    def __init__(self, consumer: KafkaConsumer, database: sqlite3.Connection) -> None:
        self._consumer = consumer
        self._database = database

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Go on behind what is in the database; at the first record where nothing is."""
        for place in assigned:
            offset = next_offset(self._database, place)
            if offset is not None:
                self._consumer.seek(place, offset)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Nothing is to be done: all that was handed out is in the database."""


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,  # the group holds no offsets at all
        auto_offset_reset="earliest",
        value_deserializer=bytes.decode,
        **settings,
    )
    with consumer, closing(open_database(target)) as database:
        consumer.subscribe([topic], listener=Places(consumer, database))
        while True:
            for records in consumer.poll(timeout_ms=1000).values():
                store(database, records)


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record exactly once, into a database")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
