"""The registration of a member that polls: its topics, one thread each."""

from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.streams.stream_queue import OwnedQueue
from zkconsumer.zk.nodes import Pattern, Registration


@dataclass(frozen=True, slots=True)
class PollSubscription:
    """A ``StreamSubscription`` of named topics; patterns are expanded before.

    Scala members would read a pattern as Java's, and ours is Python's.
    """

    topics: frozenset[str]
    queue: OwnedQueue

    @property
    def wildcard(self) -> bool:
        """See ``StreamSubscription``."""
        return False

    @property
    def static_topics(self) -> tuple[str, ...]:
        """See ``StreamSubscription``."""
        return tuple(sorted(self.topics))

    def registration(self, timestamp_ms: int) -> Registration:
        """See ``StreamSubscription``."""
        counts = dict.fromkeys(self.static_topics, 1)
        return Registration(subscription=counts, pattern=Pattern.STATIC, timestamp_ms=timestamp_ms)

    def queue_of(self, topic_partition: TopicPartition, thread: int) -> OwnedQueue:
        """See ``StreamSubscription``."""
        del topic_partition, thread
        return self.queue

    def queues(self) -> tuple[OwnedQueue, ...]:
        """See ``StreamSubscription``."""
        return (self.queue,)
