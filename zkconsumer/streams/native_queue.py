"""``ChunkQueue`` for native fetch loops, which fill it without the GIL.

The queue, its bounds and its waits are C (``native/csrc/queue.h``). What a native loop adds becomes
a ``Chunk`` when the stream first sees it; what Python adds is kept. The C part never calls Python
while it holds its mutex, and no signal handler runs in it: so a handler that interrupts the
stream's side may use the queue.
"""

import sys
from collections.abc import Callable
from typing import cast

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.sizes import can_cut, cut_head, records_bytes
from zkconsumer.native import _core
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import CLOSED, Closed, Failed, Item


class NativeChunkQueue:
    """See ``ChunkQueue``, for every method, too.

    Attributes:
        native: the queue that a native loop fills; it must ``adopt`` their claims first.
    """

    def __init__(self, max_chunks: int, budget: ByteBudget | None = None) -> None:
        self.native = _core.Queue(max_chunks, Chunk)
        self._budget = budget
        self._on_change: Callable[[], None] | None = None
        if budget is not None:
            budget.enter(self, self._take_share)

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        half_bytes = self.native.half_share_bytes
        while can_cut(chunk, half_bytes):
            if not self._capacity_for(max(half_bytes, _least_bytes(chunk)), on_room):
                return False
            # If a native loop takes the bytes first, the chunk is restored.
            whole = (chunk.fetch_offset, chunk.records, chunk.size_bytes)
            if not self._offer_whole(_cut_head(chunk, half_bytes), on_room):
                chunk.fetch_offset, chunk.records, chunk.size_bytes = whole
                return False
        return self._offer_whole(chunk, on_room)

    def room_bytes(self, on_room: Callable[[], None]) -> int:
        """See ``ChunkSink``."""
        free_bytes = self.native.free_bytes
        if not free_bytes:
            self.native.wait_for_room(on_room)
            # The stream may have freed bytes before it could see the new waiter.
            free_bytes = self.native.free_bytes
        return free_bytes

    def fail(self, error: ZkConsumerError) -> None:
        """Have the stream raise this error after the queued chunks. Thread: any."""
        self.native.add(Failed(error), None, 0)
        self._notify()

    def close(self) -> None:
        """End the stream after the queued chunks. Thread: any."""
        self.native.add(CLOSED, None, 0)
        self._notify()

    def wake(self) -> None:
        """End a wait of the stream, the present or the next one. Thread: any."""
        self.native.wake()
        self._notify()

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Call this after every put and wake; None: nothing any more."""
        self._on_change = on_change
        self.native.listen(on_change)

    def take(self, timeout_ms: int | None) -> Item | None:
        """``head``, ``remove`` and ``done_with`` in one. Thread: the stream's."""
        item = self.head(timeout_ms)
        if item is not None:
            self.remove()
        if isinstance(item, Chunk):
            self.done_with(item)
        return item

    def head(self, timeout_ms: int | None) -> Item | None:
        """Return the next item; None after ``timeout_ms``, or earlier after a ``wake``."""
        return cast("Item | None", self.native.head(timeout_ms))

    def pause(self, timeout_ms: int | None) -> None:
        """Wait for a put or a ``wake``, even if items are queued. Thread: the stream's."""
        self.native.pause(timeout_ms)

    def remove(self) -> None:
        """Remove the head, except for ``Closed``, which stays. Thread: the stream's."""
        if not isinstance(self.native.named_head, Closed):
            self.native.remove()

    def done_with(self, chunk: Chunk) -> None:
        """Free the bytes of a removed chunk; may be repeated. Thread: the stream's."""
        self.native.done_with(chunk)

    def discard_inactive(self) -> None:
        """Free the chunks of claims that were given up. Thread: any."""
        for item in self.native.named_items():
            if isinstance(item, Chunk) and not item.claim.active:
                item.records = ()
                item.poison = None
                item.size_bytes = 0
        self.native.discard()

    def chunk_count(self) -> int:
        """Return the number of queued chunks of active claims. Thread: any."""
        return self.native.chunk_count

    def used_bytes(self) -> int:
        """Return the memory of the queued chunks and the one being read. Thread: any."""
        return self.native.used_bytes

    def adopt(self, claim: PartitionClaim) -> None:
        """Register a claim whose chunks a native loop will add. Thread: any."""
        self.native.adopt(claim)

    def _take_share(self) -> None:
        """Set the share; repeated until it holds, since two threads may do this at once."""
        assert self._budget is not None
        share_bytes = -1
        while share_bytes != self._budget.share_bytes:
            share_bytes = self._budget.share_bytes
            self.native.set_share(min(share_bytes, sys.maxsize))

    def _offer_whole(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        if not self.native.add(chunk, chunk.claim, chunk.size_bytes):
            self.native.wait_for_room(on_room)
            if not self.native.add(chunk, chunk.claim, chunk.size_bytes):
                return False
        self._notify()
        return True

    def _capacity_for(self, size_bytes: int, on_room: Callable[[], None]) -> bool:
        """Return whether so many bytes fit; if not, register ``on_room``."""
        if self.native.has_room(size_bytes):
            return True
        self.native.wait_for_room(on_room)
        return self.native.has_room(size_bytes)

    def _notify(self) -> None:
        on_change = self._on_change
        if on_change is not None:
            on_change()


def _least_bytes(chunk: Chunk) -> int:
    """Return the size of the first record; 0 for native ones, which are sized when cut."""
    records = chunk.records
    return 0 if isinstance(records, _core.Runs) else records_bytes(records[:1])


def _cut_head(chunk: Chunk, max_bytes: int) -> Chunk:
    """Cut the head off a chunk, see ``fetch.sizes``; native records stay native."""
    records = chunk.records
    if not isinstance(records, _core.Runs):
        return cut_head(chunk, max_bytes)
    front, rest = (records, ()) if len(records) == 1 else records.split(max_bytes)
    next_offset = front.runs[-1].last_offset + 1
    head = Chunk(chunk.claim, chunk.fetch_offset, next_offset, front, front.size_bytes)
    # The poison after the records is charged to the rest.
    poison_bytes = max(0, chunk.size_bytes - records.size_bytes)
    chunk.fetch_offset, chunk.records = next_offset, rest
    chunk.size_bytes = poison_bytes + (rest.size_bytes if isinstance(rest, _core.Runs) else 0)
    return head
