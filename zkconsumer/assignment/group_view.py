"""The input of the assignors: every member's subscription, and the topics' partitions."""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.assignment.threads import Threads
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupView:
    """A whole group at one moment.

    Attributes:
        members: the topics that each member reads, by consumer id: numbers of streams (at least 1)
            by topic, filters already expanded, in the order of the member's registration.
        partitions: partition numbers, in any order, of every topic that a member reads; a topic
            that is missing here has none.
    """

    members: Mapping[str, Mapping[str, int]]
    partitions: Mapping[str, tuple[int, ...]]

    def threads_by_topic(self) -> dict[str, Threads]:
        """Return the threads of the group that read each topic, sorted as text (so 10 before 2).

        Source: Kafka 0.8.2.2 ``ZkUtils.getConsumersPerTopic``.
        """
        counts: dict[str, dict[str, int]] = {}
        for consumer_id, read in self.members.items():
            for topic, stream_count in read.items():
                counts.setdefault(topic, {})[consumer_id] = stream_count
        # In most groups all topics have the same threads: share one object, and its cache.
        known: dict[Threads, Threads] = {}
        found = {topic: Threads(of_topic) for topic, of_topic in counts.items()}
        return {topic: known.setdefault(threads, threads) for topic, threads in found.items()}

    def partitions_of(self, topic: str) -> tuple[TopicPartition, ...]:
        """Return a topic's partitions, sorted by number."""
        return tuple(
            TopicPartition(topic, partition) for partition in sorted(self.partitions.get(topic, ()))
        )
