"""The registration of a member that polls, and its stream's queue, which passes errors on."""

from collections.abc import Callable
from dataclasses import dataclass

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import TopicPartition
from zkconsumer.streams.stream_queue import OwnedQueue
from zkconsumer.zk.nodes import Pattern, Registration


@dataclass(frozen=True, slots=True)
class PollSubscription:
    """A ``StreamSubscription`` of named topics; patterns are expanded beforehand.

    Scala members would take a pattern for a Java one; ours are Python's.
    """

    wildcard = False
    topics: frozenset[str]
    queue: OwnedQueue

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


class FailureQueue:
    """An ``OwnedQueue`` without chunks: a poll engine has the records.

    Args:
        notify: called with the error that the stream would raise. Thread: control.
    """

    def __init__(self, notify: Callable[[ZkConsumerError], None]) -> None:
        self._notify = notify

    def fail(self, error: ZkConsumerError) -> None:
        """See ``OwnedQueue``."""
        self._notify(error)

    def close(self) -> None:
        """See ``OwnedQueue``: a closing caller gets a reply instead."""

    def discard_inactive(self) -> None:
        """See ``OwnedQueue``."""

    def chunk_count(self) -> int:
        """See ``OwnedQueue``."""
        return 0

    def used_bytes(self) -> int:
        """See ``OwnedQueue``."""
        return 0

    def free_bytes(self, on_capacity: Callable[[], None]) -> int:
        """See ``ChunkSink``: always none."""
        del on_capacity
        return 0

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``: accepts nothing."""
        del chunk, on_capacity
        return False
