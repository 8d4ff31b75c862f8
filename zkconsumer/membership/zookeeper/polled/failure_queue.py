"""The queue of a member that polls: it passes errors on, and takes no records."""

from collections.abc import Callable

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk


class FailureQueue:
    """An ``OwnedQueue`` without chunks: a poll engine has the records.

    Args:
        notify: called with the error that the stream would raise. Thread: control.
    """

    def __init__(self, notify: Callable[[ZkConsumerError], None]) -> None:
        self._notify = notify

    def fail(self, error: ZkConsumerError) -> None:
        """See ``ChunkSink``."""
        self._notify(error)

    def close(self) -> None:
        """See ``OwnedQueue``: a closing caller gets a reply instead."""

    def discard_inactive(self) -> None:
        """See ``ChunkSink``."""

    def free_bytes(self, on_capacity: Callable[[], None]) -> int:
        """See ``ChunkSink``: always none."""
        del on_capacity
        return 0

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``: accepts nothing."""
        del chunk, on_capacity
        return False
