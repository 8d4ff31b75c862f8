"""The bounded queue between fetchers and one stream.

Only the stream ever waits, for data. A producer that finds the queue full gets False, and a
callback when there is capacity. The stream's side takes no Python lock, so that a signal handler
that interrupts it anywhere may shut the connector down (see ``Mailbox``).

It is bounded in chunks and in bytes. The engine's store implements contents, bounds and waits: a
``PythonStore``, or C (``native/csrc/queue.h``), which native fetch loops fill without the GIL.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, cast

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, ChunkSink
from zkconsumer.fetch.sizes import can_cut, cut_head, least_bytes
from zkconsumer.streams.budget import ByteBudget

if TYPE_CHECKING:
    from zkconsumer.native import _core
    from zkconsumer.streams.chunk_queue import PythonStore


class Closed:
    """The end of the stream; every later take returns it again."""


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """An error for the stream's caller; the stream goes on after it."""

    error: ZkConsumerError


CLOSED: Final = Closed()
Item = Chunk | Failed | Closed


class OwnedQueue(ChunkSink, Protocol):
    """A queue as the control thread uses it; see ``StreamQueue`` for each method."""

    def close(self) -> None:
        """See ``StreamQueue``."""
        ...


class StreamQueue:
    """A bounded queue of chunks (Kafka's ``BlockingQueue[FetchedDataChunk]``).

    No chunk in it is larger than half the queue's share of the budget (except a single record), so
    that one can be read while the next one waits. A record larger than the share is accepted when
    the queue is empty, since it must be delivered, too.

    Args:
        store: holds the items; limits the number of chunks of active claims.
        budget: the budget that the queue has a share of; None: no limit.
    """

    def __init__(self, store: "PythonStore | _core.Queue", budget: ByteBudget | None) -> None:
        self._store = store
        self._budget = budget
        self._on_change: Callable[[], None] | None = None
        if budget is not None:
            budget.enter(self._take_share)

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        half_bytes = self._store.half_share_bytes
        while can_cut(chunk, half_bytes):
            if not self._capacity_for(max(half_bytes, least_bytes(chunk)), on_capacity):
                return False
            # If another producer takes the bytes first, the chunk is restored.
            whole = (chunk.fetch_offset, chunk.records, chunk.size_bytes)
            if not self._offer_whole(cut_head(chunk, half_bytes), on_capacity):
                chunk.fetch_offset, chunk.records, chunk.size_bytes = whole
                return False
        return self._offer_whole(chunk, on_capacity)

    def free_bytes(self, on_capacity: Callable[[], None]) -> int:
        """See ``ChunkSink``: the free bytes, up to half the share; less than an eighth is 0."""
        free_bytes = self._store.free_bytes
        if not free_bytes:
            self._store.wait_for_capacity(on_capacity)
            # The stream may have freed bytes before it could see the new waiter.
            free_bytes = self._store.free_bytes
        return free_bytes

    def fail(self, error: ZkConsumerError) -> None:
        """See ``ChunkSink``."""
        self._store.add(Failed(error), None, 0)
        self._notify()

    def close(self) -> None:
        """End the stream after the queued chunks. Thread: any."""
        self._store.add(CLOSED, None, 0)
        self._notify()

    def wake(self) -> None:
        """End the stream's current wait, or else its next one. Thread: any."""
        self._store.wake()
        self._notify()

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Register a function to call after every put and wake; None: call nothing.

        It is called in any thread, signal handlers included, and must only put or notify.
        """
        self._on_change = on_change
        self._store.listen(on_change)

    def take(self, timeout_ms: int | None) -> Item | None:
        """Remove the next item, free its bytes and return it, as ``head``. Thread: the stream's."""
        item = self.head(timeout_ms)
        if item is not None:
            self.remove()
        if isinstance(item, Chunk):
            self.release(item)
        return item

    def head(self, timeout_ms: int | None) -> Item | None:
        """Return the next item; None after ``timeout_ms`` (None: no limit), or after a ``wake``.

        It stays in the queue until ``remove``: the stream stores it first, so that a signal handler
        that raises in between loses nothing. ``release`` must have been called for the item
        removed before, or a large chunk may wait for free bytes for ever. Thread: the stream's.
        """
        return cast("Item | None", self._store.head(timeout_ms))

    def pause(self, timeout_ms: int | None) -> None:
        """Wait for a put or a ``wake``, even if items are queued. Thread: the stream's.

        The wait may end early without a cause.
        """
        self._store.pause(timeout_ms)

    def remove(self) -> None:
        """Remove the head, except for ``Closed``, which stays. Thread: the stream's.

        A chunk's bytes count until ``release``.
        """
        if not isinstance(self._store.named_head, Closed):
            self._store.remove()

    def release(self, chunk: Chunk) -> None:
        """Free the bytes of a removed chunk; may be repeated. Thread: the stream's."""
        self._store.release(chunk)

    def discard_inactive(self) -> None:
        """See ``ChunkSink``."""
        for item in self._store.named_items():
            if isinstance(item, Chunk) and not item.claim.active:
                item.records = ()
                item.poison = None
                item.size_bytes = 0
        self._store.discard()

    def chunk_count(self) -> int:
        """Return the number of queued chunks of active claims. Thread: any."""
        return self._store.chunk_count

    def used_bytes(self) -> int:
        """Return the memory of the queued chunks and the one being read. Thread: any."""
        return self._store.used_bytes

    def _take_share(self) -> None:
        """Set the share until it is current, since two threads may do this at once."""
        assert self._budget is not None
        share_bytes = -1
        while share_bytes != self._budget.share_bytes:
            share_bytes = self._budget.share_bytes
            self._store.set_share(min(share_bytes, sys.maxsize))

    def _offer_whole(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        if not self._store.add(chunk, chunk.claim, chunk.size_bytes):
            self._store.wait_for_capacity(on_capacity)
            if not self._store.add(chunk, chunk.claim, chunk.size_bytes):
                return False
        self._notify()
        return True

    def _capacity_for(self, size_bytes: int, on_capacity: Callable[[], None]) -> bool:
        """Return whether ``size_bytes`` fit; if not, register ``on_capacity``."""
        if self._store.has_capacity(size_bytes):
            return True
        self._store.wait_for_capacity(on_capacity)
        return self._store.has_capacity(size_bytes)

    def _notify(self) -> None:
        on_change = self._on_change
        if on_change is not None:
            on_change()
