"""Defines a member's subscription, with the queues that receive its records."""

from typing import Protocol

from zkconsumer.model import TopicPartition
from zkconsumer.streams.stream_queue import OwnedQueue
from zkconsumer.zk.nodes import Registration


class StreamSubscription(Protocol):
    """A static or by-filter subscription with the queues of its streams."""

    @property
    def wildcard(self) -> bool:
        """Whether topics created later may match."""
        ...

    @property
    def static_topics(self) -> tuple[str, ...]:
        """The topics named; empty for a filter."""
        ...

    def registration(self, timestamp_ms: int) -> Registration:
        """Return the content of the registration node."""
        ...

    def queue_of(self, topic_partition: TopicPartition, thread: int) -> OwnedQueue:
        """Return the queue of the stream that reads a thread's partition."""
        ...

    def queues(self) -> tuple[OwnedQueue, ...]:
        """Return all queues, each once."""
        ...
