"""The stream queue of a member whose records are fetched elsewhere: it only passes errors on."""

from collections.abc import Callable

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.streams.chunk_queue import Item


class FailureQueue:
    """A ``StreamQueue`` without chunks: a poll engine has the records.

    Args:
        notify: called with what the stream would raise. Thread: control.
    """

    def __init__(self, notify: Callable[[ZkConsumerError], None]) -> None:
        self._notify = notify

    def fail(self, error: ZkConsumerError) -> None:
        """See ``StreamQueue``."""
        self._notify(error)

    def close(self) -> None:
        """See ``StreamQueue``: a closing caller gets a reply instead."""

    def wake(self) -> None:
        """See ``StreamQueue``."""

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """See ``StreamQueue``."""
        del on_change

    def discard_inactive(self) -> None:
        """See ``StreamQueue``."""

    def chunk_count(self) -> int:
        """See ``StreamQueue``."""
        return 0

    def used_bytes(self) -> int:
        """See ``StreamQueue``."""
        return 0

    def room_bytes(self, on_room: Callable[[], None]) -> int:
        """See ``ChunkSink``: always none."""
        del on_room
        return 0

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """See ``ChunkSink``: accepts nothing."""
        del chunk, on_room
        return False

    def take(self, timeout_ms: int | None) -> Item | None:
        """See ``StreamQueue``: no stream reads it."""
        del timeout_ms
        return None

    def head(self, timeout_ms: int | None) -> Item | None:
        """See ``StreamQueue``."""
        del timeout_ms
        return None

    def pause(self, timeout_ms: int | None) -> None:
        """See ``StreamQueue``."""
        del timeout_ms

    def remove(self) -> None:
        """See ``StreamQueue``."""

    def done_with(self, chunk: Chunk) -> None:
        """See ``StreamQueue``."""
        del chunk
