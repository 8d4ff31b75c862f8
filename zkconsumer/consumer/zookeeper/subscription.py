"""What a member that polls registers: its topics, one thread each."""

from dataclasses import dataclass

from zkconsumer.model import TopicPartition
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.zk.nodes import Pattern, Registration


@dataclass(frozen=True, slots=True)
class PollSubscription:
    """A ``Subscription`` of named topics; patterns come expanded, and come again when they change.

    Scala members would read a pattern as one of Java's, and ours is one of Python's.
    """

    topics: frozenset[str]
    queue: StreamQueue

    @property
    def wildcard(self) -> bool:
        """See ``Subscription``."""
        return False

    @property
    def static_topics(self) -> tuple[str, ...]:
        """See ``Subscription``."""
        return tuple(sorted(self.topics))

    def registration(self, timestamp_ms: int) -> Registration:
        """See ``Subscription``."""
        counts = dict.fromkeys(self.static_topics, 1)
        return Registration(subscription=counts, pattern=Pattern.STATIC, timestamp_ms=timestamp_ms)

    def queue_of(self, topic_partition: TopicPartition, thread: int) -> StreamQueue:
        """See ``Subscription``."""
        del topic_partition, thread
        return self.queue

    def queues(self) -> tuple[StreamQueue, ...]:
        """See ``Subscription``."""
        return (self.queue,)
