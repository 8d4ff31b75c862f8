"""The bounded queue between fetchers and one stream.

Its rule: nobody ever waits for anybody but the stream for data. A producer that finds it full is
told so and is called when there is room; the stream's side takes no lock at all, so that a signal
handler that interrupts it anywhere may shut the connector down (see ``Mailbox``).

It relies on single operations of ``deque`` and ``SimpleQueue`` being atomic.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk
from zkconsumer.scope import naps


class Closed:
    """The stream has ended; comes again on every later take."""


@dataclass(frozen=True, slots=True, eq=False)
class Failed:
    """Something the stream's caller must hear; the stream goes on behind it."""

    error: ZkConsumerError


CLOSED: Final = Closed()
Item = Chunk | Failed | Closed


class ChunkQueue:
    """A bounded queue of chunks (Kafka's ``BlockingQueue[FetchedDataChunk]``).

    Args:
        max_chunks: ``queued.max.message.chunks``; chunks of claims that were given up don't count.
    """

    def __init__(self, max_chunks: int) -> None:
        self._max_chunks = max_chunks
        self._items: deque[Item] = deque()
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiters: deque[Callable[[], None]] = deque()
        self._producers = threading.Lock()

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        with self._producers:
            if self.chunk_count() >= self._max_chunks:
                # A producer may try at every turn while the stream stands still: one call for all.
                if on_room not in list(self._waiters):
                    self._waiters.append(on_room)
                # The stream may have made room before it could see the new waiter.
                if self.chunk_count() >= self._max_chunks:
                    return False
            self._put(chunk)
        return True

    def fail(self, error: ZkConsumerError) -> None:
        """Have the stream raise this, behind what is queued. Thread: any."""
        self._put(Failed(error))

    def close(self) -> None:
        """End the stream, behind what is queued. Thread: any."""
        self._put(CLOSED)

    def take(self, timeout_ms: int | None) -> Item | None:
        """``head`` and ``remove`` in one. Thread: the stream's."""
        item = self.head(timeout_ms)
        if item is not None:
            self.remove()
        return item

    def head(self, timeout_ms: int | None) -> Item | None:
        """The next item, or None after ``timeout_ms`` (None waits). Thread: the stream's.

        It stays in the queue until ``remove``: the stream makes it its own first, so that a signal
        handler that raises between the two loses nothing.
        """
        for nap_ms in naps(timeout_ms):
            # A token only wakes: what counts is what is there.
            while not self._items and self._token_came(nap_ms):
                pass
            if self._items:
                return self._items[0]
        return None

    def remove(self) -> None:
        """Take the head out, but for the end, which stays. Thread: the stream's."""
        if isinstance(self._items[0], Closed):
            return
        self._items.popleft()
        self._token_came(0)
        self._make_room()

    def discard_inactive(self) -> None:
        """Free what is queued for claims that were given up. Thread: any."""
        for item in list(self._items):
            if isinstance(item, Chunk) and not item.claim.active:
                item.records = ()
        self._make_room()

    def chunk_count(self) -> int:
        """How many chunks wait that will be delivered. Thread: any."""
        return sum(isinstance(one, Chunk) and one.claim.active for one in list(self._items))

    def _put(self, item: Item) -> None:
        self._items.append(item)
        self._tokens.put(None)

    def _token_came(self, timeout_ms: int) -> bool:
        try:
            self._tokens.get(timeout=timeout_ms / 1000)
        except queue.Empty:
            return False
        return True

    def _make_room(self) -> None:
        while True:
            try:
                waiter = self._waiters.popleft()
            except IndexError:
                return
            waiter()
