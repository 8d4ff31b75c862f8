"""The bounded queue between fetchers and one stream.

Its rule: only the stream ever waits, for data. A producer that finds the queue full is told so and
called back when there is room; the stream's side takes no lock at all, so that a signal handler
that interrupts it anywhere may shut the connector down (see ``Mailbox``).

It is bounded in chunks and in bytes. There is no counter of either that could go wrong: both are
summed over the queue and the chunk being read. So freeing bytes means forgetting a chunk, which is
one store and may be done twice.

It relies on single operations of ``deque`` and ``SimpleQueue`` being atomic.
"""

import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.sizes import can_cut, cut_head, records_bytes
from zkconsumer.scope import naps
from zkconsumer.streams.budget import ByteBudget


class Closed:
    """The stream has ended; every later take returns it again."""


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """An error for the stream's caller; the stream goes on after it."""

    error: ZkConsumerError


CLOSED: Final = Closed()
Item = Chunk | Failed | Closed


class ChunkQueue:
    """A bounded queue of chunks (Kafka's ``BlockingQueue[FetchedDataChunk]``).

    No chunk in it is larger than half the queue's share of the budget (except a single record), so
    that one can be read while the next one waits. A record larger than the share is accepted when
    the queue is empty, since it must be delivered, too.

    Args:
        max_chunks: ``queued.max.message.chunks``; chunks of claims that were given up don't count.
        budget: the budget that the queue has a share of; None: no limit.
    """

    def __init__(self, max_chunks: int, budget: ByteBudget | None = None) -> None:
        self._max_chunks = max_chunks
        self._budget = budget
        self._items: deque[Item] = deque()
        self._pending: Chunk | None = None
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._woken = False
        self._on_change: Callable[[], None] | None = None
        self._waiters: deque[Callable[[], None]] = deque()
        self._producers = threading.Lock()
        if budget is not None:
            budget.enter(self)

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        half_bytes = self._half_share_bytes()
        with self._producers:
            while can_cut(chunk, half_bytes):
                part_bytes = max(half_bytes, records_bytes(chunk.records[:1]))
                if not self._capacity_for(part_bytes, on_room):
                    return False
                self._put(cut_head(chunk, half_bytes))
            if not self._capacity_for(chunk.size_bytes, on_room):
                return False
            self._put(chunk)
        return True

    def room_bytes(self, on_room: Callable[[], None]) -> int:
        """See ``ChunkSink``: the free bytes, up to half the share; less than an eighth is 0."""
        half_bytes = self._half_share_bytes()
        with self._producers:
            if not self._capacity_for(max(1, half_bytes // 4), on_room):
                return 0
            if self._budget is None:
                return half_bytes
            return max(1, min(half_bytes, self._budget.share_bytes - self.used_bytes()))

    def fail(self, error: ZkConsumerError) -> None:
        """Have the stream raise this error after the queued chunks. Thread: any."""
        self._put(Failed(error))

    def close(self) -> None:
        """End the stream after the queued chunks. Thread: any."""
        self._put(CLOSED)

    def wake(self) -> None:
        """End a wait of the stream, the present or the next one. Thread: any."""
        self._woken = True
        self._signal()

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """Call this after every put and wake; None: nothing any more.

        It is called in any thread, signal handlers included, and must only put or notify.
        """
        self._on_change = on_change

    def take(self, timeout_ms: int | None) -> Item | None:
        """``head``, ``remove`` and ``done_with`` in one. Thread: the stream's."""
        item = self.head(timeout_ms)
        if item is not None:
            self.remove()
        if isinstance(item, Chunk):
            self.done_with(item)
        return item

    def head(self, timeout_ms: int | None) -> Item | None:
        """Return the next item; None after ``timeout_ms`` (None: wait), or after a ``wake``.

        It stays in the queue until ``remove``: the stream stores it first, so that a signal handler
        that raises in between loses nothing. The item removed before must be ``done_with`` by now,
        or a large chunk may wait for its bytes for ever. Thread: the stream's.
        """
        for nap_ms in naps(timeout_ms):
            # A token only wakes: what counts is the queue.
            while not self._items and not self._woken and self._token_came(nap_ms):
                pass
            if self._items:
                return self._items[0]
            if self._woken:
                self._woken = False
                return None
        return None

    def pause(self, timeout_ms: int | None) -> None:
        """Wait for a put or a ``wake``, even if items are queued. Thread: the stream's.

        It may end early for no reason.
        """
        for nap_ms in naps(timeout_ms):
            if self._woken or self._token_came(nap_ms):
                self._woken = False
                return

    def remove(self) -> None:
        """Remove the head, except for ``Closed``, which stays. Thread: the stream's.

        A chunk's bytes count until ``done_with``.
        """
        item = self._items[0]
        if isinstance(item, Closed):
            return
        if isinstance(item, Chunk):
            self._pending = item
        self._items.popleft()
        self._token_came(0)
        self._make_space()

    def done_with(self, chunk: Chunk) -> None:
        """Free the bytes of a removed chunk; may be repeated. Thread: the stream's."""
        if self._pending is chunk:
            self._pending = None
            self._make_space()

    def discard_inactive(self) -> None:
        """Free the chunks of claims that were given up. Thread: any."""
        for item in list(self._items):
            if isinstance(item, Chunk) and not item.claim.active:
                item.records = ()
                item.poison = None
                item.size_bytes = 0
        self._make_space()

    def chunk_count(self) -> int:
        """Return the number of queued chunks of active claims. Thread: any."""
        return sum(isinstance(item, Chunk) and item.claim.active for item in list(self._items))

    def used_bytes(self) -> int:
        """Return the memory of the queued chunks and the one being read. Thread: any."""
        # In this order: a chunk that is removed meanwhile counts twice.
        queued = sum(item.size_bytes for item in list(self._items) if isinstance(item, Chunk))
        pending = self._pending
        return queued + (pending.size_bytes if pending is not None else 0)

    def _half_share_bytes(self) -> int:
        return sys.maxsize if self._budget is None else max(1, self._budget.share_bytes // 2)

    def _capacity_for(self, size_bytes: int, on_room: Callable[[], None]) -> bool:
        """Return whether so many bytes fit; if not, register ``on_room``."""
        if self._fits(size_bytes):
            return True
        # A producer may try at every turn while the stream is idle: register it once.
        if on_room not in list(self._waiters):
            self._waiters.append(on_room)
        # The stream may have freed bytes before it could see the new waiter.
        return self._fits(size_bytes)

    def _fits(self, size_bytes: int) -> bool:
        if self.chunk_count() >= self._max_chunks:
            return False
        if self._budget is None:
            return True
        used_bytes = self.used_bytes()
        return used_bytes == 0 or used_bytes + size_bytes <= self._budget.share_bytes

    def _put(self, item: Item) -> None:
        self._items.append(item)
        self._signal()

    def _signal(self) -> None:
        self._tokens.put(None)
        on_change = self._on_change
        if on_change is not None:
            on_change()

    def _token_came(self, timeout_ms: int) -> bool:
        try:
            self._tokens.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return False
        return True

    def _make_space(self) -> None:
        while True:
            try:
                waiter = self._waiters.popleft()
            except IndexError:
                return
            waiter()
