"""The queue of a member whose messages go elsewhere: it only passes errors on."""

from collections.abc import Callable

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.streams.chunk_queue import Item


class FailureQueue:
    """A ``StreamQueue`` into which nobody fetches: a poll engine has the messages.

    Args:
        notify: hears what the stream would have raised. Thread: control.
    """

    def __init__(self, notify: Callable[[ZkConsumerError], None]) -> None:
        self._notify = notify

    def fail(self, error: ZkConsumerError) -> None:
        """See ``StreamQueue``."""
        self._notify(error)

    def close(self) -> None:
        """See ``StreamQueue``: the end comes by the answer to who closes."""

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
        """See ``ChunkSink``: there never is any."""
        del on_room
        return 0

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """See ``ChunkSink``: nobody offers anything."""
        del chunk, on_room
        return False

    def take(self, timeout_ms: int | None) -> Item | None:
        """See ``StreamQueue``: nobody reads it."""
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
