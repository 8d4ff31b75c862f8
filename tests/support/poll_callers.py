"""What tests of a ``KafkaConsumer`` with fake parts have in common."""

from collections.abc import Callable, Collection
from typing import Any

from tests.support.poll_fakes import FakeParts
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition

ConsumerFactory = Callable[..., tuple[KafkaConsumer, FakeParts]]
"""Creates a consumer of topics, with settings; see the fixture ``make_consumer``."""

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
Offsets = dict[TopicPartition, list[int]]


def offsets_of(polled: object) -> Offsets:
    """Return the offsets of a poll's records by partition."""
    assert isinstance(polled, dict)
    return {tp: [record.offset for record in records] for tp, records in polled.items()}


def joined_consumer(
    make_consumer: ConsumerFactory, **settings: Any
) -> tuple[KafkaConsumer, FakeParts]:
    """Return a consumer with both partitions assigned, of ten records each."""
    consumer, fakes = make_consumer("t", **settings)
    fakes.engine.ends = {A: 10, B: 10}
    fakes.group.assign(A, B)
    consumer.poll()  # takes the partitions over, and requests their offsets
    return consumer, fakes


class Listener(ConsumerRebalanceListener):
    """A rebalance listener that records its calls, and checks the assignment in them."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.received: list[tuple[str, list[TopicPartition]]] = []
        self.raises: Exception | None = None

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        assert set(revoked) <= self.consumer.assignment()
        self._on_notice("revoked", revoked)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        assert set(assigned) <= self.consumer.assignment()
        self._on_notice("assigned", assigned)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self._on_notice("lost", lost)

    def _on_notice(self, what: str, partitions: Collection[TopicPartition]) -> None:
        self.received.append((what, sorted(partitions)))
        if self.raises is not None:
            raise self.raises
