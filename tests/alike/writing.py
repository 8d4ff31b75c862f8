"""``python -m tests.alike.writing BOOTSTRAP``: create and fill the topics that cases share.

Both libraries read topics that kafka-python wrote.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import RetriableError, TopicAlreadyExistsError

from tests.alike.stage import CODECS, EMPTY, LETTERS, MANY, MANY_COUNT, TRANSACTIONS, time_of

_TOMBSTONE, _WITH_HEADERS = (0, 4), (0, 2)
_TIMEOUT_S = 20.0
_KEPT = {"retention.ms": "-1"}
"""The records have old timestamps: with the default retention brokers would delete them."""


class Writer:
    """Creates topics and writes to them.

    Args:
        bootstrap: the broker's address.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self._producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5)
        self._one_at_a_time = threading.Lock()

    def make_topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic; return its name once it can be written to."""
        deadline = time.perf_counter() + _TIMEOUT_S
        with self._one_at_a_time:
            while not self._made(name, partitions):
                if time.perf_counter() > deadline:
                    raise AssertionError(f"topic {name} could not be made in {_TIMEOUT_S} s")
        while self._producer.partitions_for(name) != set(range(partitions)):
            if time.perf_counter() > deadline:
                raise AssertionError(f"topic {name} was not to be seen in {_TIMEOUT_S} s")
        return name

    def _made(self, name: str, partitions: int) -> bool:
        try:
            self._admin.create_topics([NewTopic(name, partitions, 1, topic_configs=_KEPT)])
        except TopicAlreadyExistsError:
            return True
        except RetriableError:
            return False
        return True

    def send(self, topic: str, *values: bytes | None, partition: int = 0, **more: Any) -> int:
        """Write records; return the offset of the last."""
        futures = [self._producer.send(topic, data, partition=partition, **more) for data in values]
        self._producer.flush()
        return int(futures[-1].get(_TIMEOUT_S).offset)

    def fill(self, partition: int, count: int, topic: str = LETTERS) -> None:
        """Write letters, some without a key; in partition 0 one is null, and one has headers."""
        for number in range(count):
            self._producer.send(
                topic,
                None if (partition, number) == _TOMBSTONE else f"v{partition}-{number}".encode(),
                key=None if number % 3 == 0 else f"k{number}".encode(),
                headers=[("h", b"x"), ("h", b"")] if (partition, number) == _WITH_HEADERS else [],
                partition=partition,
                timestamp_ms=time_of(number),
            )
        self._producer.flush()

    def with_producer(self, write: Callable[[Any], None], **settings: Any) -> None:
        """Call ``write`` with a producer of these settings."""
        producer = KafkaProducer(bootstrap_servers=self._bootstrap, **settings)
        try:
            write(producer)
        finally:
            producer.close()

    def close(self) -> None:
        """Disconnect."""
        self._producer.close()
        self._admin.close()


def set_up(bootstrap: str) -> None:
    """Create and fill all topics that cases share."""
    writer = Writer(bootstrap)
    try:
        _wake_coordinator(bootstrap)
        writer.make_topic(LETTERS, 3)
        writer.fill(0, 10)
        writer.fill(1, 5)
        writer.make_topic(EMPTY)
        writer.make_topic(MANY)
        writer.send(MANY, *(b"%d" % number for number in range(MANY_COUNT)))
        writer.make_topic(TRANSACTIONS)
        writer.with_producer(_write_transactions, transactional_id="alike")
        for codec in CODECS:
            topic = writer.make_topic(f"in-{codec}")
            writer.with_producer(
                lambda producer, topic=topic: _write_compressed(producer, topic),  # type: ignore[misc]
                compression_type=codec,
            )
    finally:
        writer.close()


def _wake_coordinator(bootstrap: str) -> None:
    """Let the broker create its offsets topic, which the first group has to wait for."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id="first")
    consumer.committed(TopicPartition(LETTERS, 0))
    consumer.close()


def _write_transactions(producer: Any) -> None:
    producer.init_transactions()
    for end, values in ((True, (b"a", b"b")), (False, (b"c", b"d")), (True, (b"e",))):
        producer.begin_transaction()
        for value in values:
            producer.send(TRANSACTIONS, value, partition=0)
        producer.flush()  # an abort drops what was not sent yet
        if end:
            producer.commit_transaction()
        else:
            producer.abort_transaction()


def _write_compressed(producer: Any, topic: str) -> None:
    for number in range(20):
        producer.send(topic, b"value %d " % number * 50, key=b"%d" % number, partition=0)
    producer.flush()


if __name__ == "__main__":
    set_up(sys.argv[1])
