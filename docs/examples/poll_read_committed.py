"""Consume, transform, store: balances out of payments that a transactional producer wrote.

With ``isolation_level="read_committed"`` only payments of committed transactions come: none of an
aborted one, and none of one that is still open (what is behind it waits until it ends). Balances
and offsets are one transaction here, too, so each payment is booked exactly once. Needs 0.11.

    python poll_read_committed.py kafka1:9092,kafka2:9092 payments ledger ledger.db
"""

import argparse
import json
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Any

from zkconsumer import ConsumerRebalanceListener, ConsumerRecord, KafkaConsumer, TopicPartition

TABLES = """
create table if not exists balances (account primary key, cents integer);
create table if not exists places (topic, part integer, next integer, primary key (topic, part));
"""


def open_database(target: str) -> sqlite3.Connection:
    """The ledger, with its tables."""
    database = sqlite3.connect(target, timeout=30, isolation_level=None)
    database.executescript(TABLES)
    return database


def next_offset(database: sqlite3.Connection, place: TopicPartition) -> int:
    """Where reading goes on; 0 where nothing was read yet."""
    row = database.execute(
        "select next from places where topic = ? and part = ?", (place.topic, place.partition)
    ).fetchone()
    return 0 if row is None else int(row[0])


def entry(payment: ConsumerRecord) -> tuple[str, int]:
    """A payment such as ``{"account": "ann", "euro": "12.50"}`` as account and cents."""
    paid = json.loads(payment.value)
    euros, _, cents = paid["euro"].partition(".")
    return paid["account"], int(euros + f"{cents:0<2}")


def claims(database: sqlite3.Connection, payments: Sequence[ConsumerRecord]) -> None:
    """Payments of one partition, and where it goes on behind them: both or nothing."""
    place = payments[0].topic_partition
    database.execute("begin immediate")  # nobody else writes until its end
    try:
        known = next_offset(database, place)
        database.executemany(
            "insert into balances values (?, ?)"
            " on conflict do update set cents = cents + excluded.cents",
            [entry(payment) for payment in payments if payment.offset >= known],
        )
        behind = max(known, payments[-1].offset + 1)
        database.execute("replace into places values (?, ?, ?)", (*place, behind))
        database.execute("commit")
    except BaseException:
        database.execute("rollback")
        raise


class Places(ConsumerRebalanceListener):
    """Starts each partition where the ledger says."""

    def __init__(self, consumer: KafkaConsumer, database: sqlite3.Connection) -> None:
        self._consumer = consumer
        self._database = database

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Go on behind what is booked."""
        for place in assigned:
            offset = next_offset(self._database, place)
            if offset:
                self._consumer.seek(place, offset)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Nothing is to be done: all that was handed out is booked."""


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        bootstrap_servers=brokers,
        group_id=group,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **settings,
    )
    with consumer, closing(open_database(target)) as database:
        consumer.subscribe([topic], listener=Places(consumer, database))
        while True:
            for payments in consumer.poll(timeout_ms=1000).values():
                claims(database, payments)


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="balances out of committed payments")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
