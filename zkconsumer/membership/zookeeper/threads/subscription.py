"""The subscription of a member, and the queue that each of its consumer threads reads from.

Source: Kafka 0.8.2.2 ``TopicCount``, ``StaticTopicCount`` and ``WildcardTopicCount``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.model import TopicPartition
from zkconsumer.streams.stream_queue import OwnedQueue
from zkconsumer.zk.nodes import Pattern, Registration


@dataclass(frozen=True, slots=True)
class StaticSubscription:
    """A subscription to named topics, each with one queue per thread.

    A member that polls has one queue for all its topics, which passes errors on.
    """

    wildcard = False
    topic_queues: Mapping[str, tuple[OwnedQueue, ...]]

    @property
    def static_topics(self) -> tuple[str, ...]:
        """The topics named; empty for a filter."""
        return tuple(self.topic_queues)

    def registration(self, timestamp_ms: int) -> Registration:
        """Return the content of the registration node."""
        counts = {topic: len(queues) for topic, queues in self.topic_queues.items()}
        return Registration(subscription=counts, pattern=Pattern.STATIC, timestamp_ms=timestamp_ms)

    def queue_of(self, topic_partition: TopicPartition, thread: int) -> OwnedQueue:
        """Return the queue of the stream that reads a thread's partition."""
        return self.topic_queues[topic_partition.topic][thread]

    def queues(self) -> tuple[OwnedQueue, ...]:
        """Return all queues, each once."""
        return tuple({queue: None for queues in self.topic_queues.values() for queue in queues})


@dataclass(frozen=True, slots=True)
class FilterSubscription:
    """A subscription by a filter; the same queues serve all topics that match, also later ones."""

    wildcard = True
    static_topics = ()
    topic_filter: Whitelist | Blacklist
    stream_queues: tuple[OwnedQueue, ...]

    def registration(self, timestamp_ms: int) -> Registration:
        """See ``StaticSubscription``."""
        white = isinstance(self.topic_filter, Whitelist)
        return Registration(
            subscription={self.topic_filter.pattern: len(self.stream_queues)},
            pattern=Pattern.WHITE_LIST if white else Pattern.BLACK_LIST,
            timestamp_ms=timestamp_ms,
        )

    def queue_of(self, topic_partition: TopicPartition, thread: int) -> OwnedQueue:
        """See ``StaticSubscription``."""
        del topic_partition
        return self.stream_queues[thread]

    def queues(self) -> tuple[OwnedQueue, ...]:
        """See ``StaticSubscription``."""
        return self.stream_queues


StreamSubscription = StaticSubscription | FilterSubscription
