"""Implements the queue of a stream in Python.

There is no counter of chunks or bytes that could go wrong: both are summed over the queue and the
chunk being read. So bytes are freed by forgetting a chunk, which is a single store and may be
repeated. The queue relies on single operations of ``deque`` being atomic: ``copy`` is; ``list``
of it is not without a GIL, and fails if another thread changes the deque meanwhile.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable

from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.scope import WakeEvent, naps
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.stream_queue import Item, StreamQueue


class PythonStore:
    """The contents of a queue, in Python; the native ``_core.Queue`` documents each method.

    Args:
        max_chunks: the maximum number of chunks of active claims.

    Attributes:
        waiters: the functions to call once there may be capacity.
    """

    def __init__(self, max_chunks: int) -> None:
        self.waiters: deque[Callable[[], None]] = deque()
        self._max_chunks = max_chunks
        self._share_bytes: int | None = None
        self._items: deque[Item] = deque()
        self._pending: Chunk | None = None
        self._wakeup = WakeEvent()
        self._woken = False
        self._producers = threading.Lock()

    def set_share(self, share_bytes: int) -> None:
        """See ``_core.Queue``."""
        self._share_bytes = share_bytes

    @property
    def half_share_bytes(self) -> int:
        """See ``_core.Queue``."""
        return sys.maxsize if self._share_bytes is None else max(1, self._share_bytes // 2)

    def has_capacity(self, size_bytes: int) -> bool:
        """See ``_core.Queue``."""
        if self.chunk_count >= self._max_chunks:
            return False
        if self._share_bytes is None:
            return True
        used_bytes = self.used_bytes
        return used_bytes == 0 or used_bytes + size_bytes <= self._share_bytes

    @property
    def free_bytes(self) -> int:
        """See ``_core.Queue``."""
        half_bytes = self.half_share_bytes
        if not self.has_capacity(max(1, half_bytes // 4)):
            return 0
        if self._share_bytes is None:
            return half_bytes
        return max(1, min(half_bytes, self._share_bytes - self.used_bytes))

    def wait_for_capacity(self, on_capacity: Callable[[], None]) -> None:
        """See ``_core.Queue``."""
        # A producer may try at every turn while the stream is idle: register it once.
        if on_capacity not in self.waiters.copy():
            self.waiters.append(on_capacity)

    @property
    def chunk_count(self) -> int:
        """See ``_core.Queue``."""
        return sum(isinstance(item, Chunk) and item.claim.active for item in self._items.copy())

    @property
    def used_bytes(self) -> int:
        """See ``_core.Queue``."""
        # In this order, so that a chunk removed meanwhile counts twice, rather than not at all.
        queued = sum(item.size_bytes for item in self._items.copy() if isinstance(item, Chunk))
        pending = self._pending
        return queued + (pending.size_bytes if pending is not None else 0)

    def add(self, item: Item, claim: PartitionClaim | None, size_bytes: int) -> bool:
        """See ``_core.Queue``."""
        if claim is None:
            self._append(item)  # without a lock: the caller may be a signal handler
            return True
        with self._producers:
            if not self.has_capacity(size_bytes):
                return False
            self._append(item)
        return True

    def _append(self, item: Item) -> None:
        self._items.append(item)
        self._wakeup.notify()

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """See ``_core.Queue``; here ``StreamQueue`` notifies of each put."""

    def wake(self) -> None:
        """See ``_core.Queue``."""
        self._woken = True
        self._wakeup.notify()

    def head(self, timeout_ms: int | None) -> Item | None:
        """See ``_core.Queue``."""
        if self._items:
            return self._items[0]
        if timeout_ms == 0 and not self._woken:
            return None
        for nap_ms in naps(timeout_ms):
            # The event only wakes this thread: the queue's contents decide.
            while not self._items and not self._woken and self._wakeup.wait(nap_ms):
                pass
            if self._items:
                return self._items[0]
            if self._woken:
                self._woken = False
                return None
        return None

    def pause(self, timeout_ms: int | None) -> None:
        """See ``_core.Queue``."""
        for nap_ms in naps(timeout_ms):
            if self._woken or self._wakeup.wait(nap_ms):
                self._woken = False
                return

    @property
    def named_head(self) -> Item | None:
        """See ``_core.Queue``."""
        return self._items[0] if self._items else None

    def remove(self) -> None:
        """See ``_core.Queue``."""
        item = self._items[0]
        if isinstance(item, Chunk):
            self._pending = item
        self._items.popleft()
        self.discard()

    def release(self, item: Chunk) -> None:
        """See ``_core.Queue``."""
        if self._pending is item:
            self._pending = None
            self.discard()

    def named_items(self) -> list[Item]:
        """See ``_core.Queue``."""
        return list(self._items.copy())

    def discard(self) -> None:
        """See ``_core.Queue``: calls the waiters, since bytes may have been freed."""
        while True:
            try:
                waiter = self.waiters.popleft()
            except IndexError:
                return
            waiter()


class ChunkQueue(StreamQueue):
    """The ``StreamQueue`` of the engine in Python.

    Args:
        max_chunks: ``queued.max.message.chunks``; chunks of claims that were given up don't count.
        budget: the budget that the queue has a share of; None: no limit.
    """

    def __init__(self, max_chunks: int, budget: ByteBudget | None = None) -> None:
        super().__init__(PythonStore(max_chunks), budget)
