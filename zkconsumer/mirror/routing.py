"""Assigns messages to topics and partitions of the target. Pure.

Source: none of the original's tools keeps partitions: its mirror maker gives keyed messages to the
producer's partitioner, and spreads the others at random.
"""

from collections.abc import Sequence
from enum import StrEnum

from zkconsumer.errors import MirrorError
from zkconsumer.model import TopicPartition
from zkconsumer.produce.partitioner import Chooser, murmur_hash


class Partitioning(StrEnum):
    """How the target partition of a message is chosen."""

    SAME = "same"
    """The partition number of the source: order and offsets of each partition stay aligned."""

    KEY = "key"
    """By the key, as the Java producer does; messages without a key go to all partitions in turn.
    """

    ROUND_ROBIN = "round-robin"
    """All partitions in turn, whatever the key."""


class Router:
    """Assigns target partitions to messages. Thread: one at a time.

    Args:
        partitioning: how partitions are chosen.
        topic_prefix: prepended to the topic's name in the target.
    """

    def __init__(self, partitioning: Partitioning, topic_prefix: str = "") -> None:
        self._partitioning = partitioning
        self._prefix = topic_prefix
        self._choosers: dict[str, Chooser] = {}

    def topic(self, source: str) -> str:
        """Return a topic's name in the target."""
        return f"{self._prefix}{source}"

    def location(self, source: TopicPartition, partitions: Sequence[int]) -> TopicPartition | None:
        """Return the common target of a partition's messages; None if each message has its own.

        Args:
            source: the source partition.
            partitions: the target topic's partition numbers, ascending; at least one.

        Raises:
            MirrorError: the target topic has no partition of the same number.
        """
        topic = self.topic(source.topic)
        if self._partitioning is Partitioning.SAME:
            if source.partition not in partitions:
                raise MirrorError(
                    f"{source} has no partition in the target: topic {topic} there has "
                    f"{len(partitions)} partitions; add partitions to it, or give "
                    "--partitions key"
                )
            return TopicPartition(topic, source.partition)
        return TopicPartition(topic, partitions[0]) if len(partitions) == 1 else None

    def locations(
        self, source: TopicPartition, keys: Sequence[bytes | None], partitions: Sequence[int]
    ) -> dict[TopicPartition, list[int]]:
        """Return the indexes of messages for each target partition, ascending.

        Args:
            source: the source partition of the messages.
            keys: their keys, in order.
            partitions: the target topic's partition numbers, ascending; at least one.

        Raises:
            MirrorError: the target topic has no partition of the same number.
        """
        whole = self.location(source, partitions)
        if whole is not None:
            return {whole: list(range(len(keys)))}
        topic = self.topic(source.topic)
        chooser = self._chooser(topic, partitions)
        keyed = self._partitioning is Partitioning.KEY
        locations: dict[TopicPartition, list[int]] = {}
        for index, key in enumerate(keys):
            chosen = chooser.choose(key if keyed else None)
            locations.setdefault(TopicPartition(topic, chosen), []).append(index)
        return locations

    def _chooser(self, topic: str, partitions: Sequence[int]) -> Chooser:
        known = self._choosers.get(topic)
        if known is None or known.partitions != frozenset(partitions):
            known = Chooser(partitions, available=partitions, hash_of=murmur_hash)
            self._choosers[topic] = known
        return known
