"""Reads batches: lists of messages from several chunks and partitions.

No offset moves while a batch is gathered: chunks are taken off the queue and read. Then the whole
batch is handed over by stores that no signal handler can separate. From then on it is treated like
a single message: it is consumed when the next batch or message is requested.

A batch ends early before anything that interrupts the messages: an unreadable record, an error, the
end, and with ``at_most_once`` the next commit (so that at most one chunk of a partition can be
lost). Source: none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, Self, TypeVar

from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.progress import Progress
from zkconsumer.streams.chunk_cursor import ChunkCursor
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.reader import BlockingTask, ChunkReader, Need, ReaderComponents
from zkconsumer.streams.stream_queue import Item
from zkconsumer.streams.waiting import Waiting

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class BatchPiece(Generic[K, V]):
    """The part of a batch that comes from one chunk, and the position after it.

    All pieces but the last reach to the end of their chunk.
    """

    chunk: Chunk
    messages: list[MessageAndMetadata[K, V]]
    position: Any


@dataclass(frozen=True, slots=True, eq=False)
class _HandedOver:
    """A batch of several chunks that was handed over: what to update once it is consumed.

    Attributes:
        progresses: the partitions whose offsets it moved.
        chunk: its last chunk, which is the current one from then on.
        position: the position in that chunk up to which it was handed over.
    """

    progresses: Sequence[Progress]
    chunk: Chunk
    position: Any


class BatchReader(ChunkReader[K, V]):
    """A reader that can also return batches. Thread: the stream's."""

    def __init__(self, parts: ReaderComponents[K, V]) -> None:
        super().__init__(parts)
        # Chunks taken off the queue and not yet current, in order.
        self._ahead: dict[Chunk, None] = {}
        self._handed_over_batch: _HandedOver | None = None

    def turn(self) -> Need | BlockingTask:
        """See ``ChunkReader``; the last batch is consumed."""
        self.settle_batch()
        return super().turn()

    def settle_batch(self) -> None:
        """Mark the last batch as consumed, since the next messages are requested."""
        handed_over_batch = self._handed_over_batch
        if handed_over_batch is not None:
            for progress in handed_over_batch.progresses:
                progress.consumed_offset = progress.delivered_offset
            cursor, before = self._cursors.of(handed_over_batch.chunk), self._cursor
            if cursor is not before:
                before.chunk = None
            # Only plain stores from here on: the current chunk becomes the batch's last.
            cursor.chunk = handed_over_batch.chunk
            # A claim that was given up may have emptied its chunk: then the position is invalid.
            if handed_over_batch.chunk.claim.active:
                cursor.position = handed_over_batch.position
            self._cursor = cursor
            self._handed_over_batch = None
        chunk = self._cursor.chunk
        if chunk is not None:
            chunk.claim.consumed_offset = chunk.claim.delivered_offset

    def ready_cursor(self) -> ChunkCursor[K, V] | None:
        """Return the current cursor if it has messages, after a ``turn`` that needs nothing."""
        chunk = self._cursor.chunk
        is_ready = chunk is not None and chunk.claim.active and not self._cursor.is_exhausted
        return self._cursor if is_ready else None

    def transfer_part(self, cursor: ChunkCursor[K, V], position: Any, next_offset: int) -> bool:
        """Hand a cursor's messages over, up to this position and offset; return False if forbidden.

        Raises:
            ConsumerForked: this is a forked child.
        """
        chunk = cursor.chunk
        if chunk is None or self._gate.is_shut() or not chunk.claim.active:
            return False
        # Only plain stores from here on, as in the cursor.
        cursor.position = position
        chunk.claim.delivered_offset = next_offset
        if self._consumes_delivered:
            chunk.claim.consumed_offset = next_offset
        return True

    def first_piece(self, most: int) -> BatchPiece[K, V] | Need | BlockingTask:
        """Begin a batch with the current chunk, or take one step towards that, as ``turn`` does."""
        need = self.turn()
        cursor = self.ready_cursor()
        if need is not Need.NOTHING or cursor is None or cursor.chunk is None:
            return need
        messages, position = cursor.peek(most)
        return BatchPiece(cursor.chunk, messages, position)

    def add_pieces(self, pieces: list[BatchPiece[K, V]], most: int, max_bytes: int) -> Need:
        """Add queued chunks to a batch; return NOTHING if it is to be handed over as it is.

        Raises:
            ConsumerForked: this is a forked child, which must not touch the queue.
        """
        self.check()
        count = sum(len(piece.messages) for piece in pieces)
        size_bytes = sum(piece.chunk.size_bytes for piece in pieces)
        while count < most and size_bytes < max_bytes and self._may_follow(pieces[-1].chunk):
            # All of the chunk is in the batch: from now on its memory is the caller's.
            self._queue.release(pieces[-1].chunk)
            item = self._chunk_ahead(len(pieces) - 1)
            if item is None:
                return Need.ITEM
            if not isinstance(item, Chunk):
                break
            messages, position = self._cursors.another(item).peek(most - count)
            pieces.append(BatchPiece(item, messages, position))
            count += len(messages)
            size_bytes += item.size_bytes
        return Need.NOTHING

    def transfer(self, pieces: list[BatchPiece[K, V]]) -> list[MessageAndMetadata[K, V]]:
        """Hand over the messages of a batch whose claims are still ours; return [] if none may be.

        Raises:
            ConsumerForked: this is a forked child.
        """
        messages: list[MessageAndMetadata[K, V]] = []
        ends: dict[Progress, int] = {}
        for piece in pieces:
            chunk = piece.chunk
            if not chunk.claim.active:
                continue
            messages += piece.messages
            if piece is not pieces[0]:
                self._note_jump(chunk, ends.get(chunk.claim, chunk.claim.consumed_offset))
            if piece is not pieces[-1]:
                ends[chunk.claim] = chunk.next_offset
            elif piece.messages:
                ends[chunk.claim] = piece.messages[-1].offset + 1
            else:
                ends[chunk.claim] = chunk.fetch_offset
        # After the work on the messages: the process may be stopped during it.
        if not messages or self._gate.is_shut():
            return []
        # For the first and the last piece ``turn`` does this, when it drops them.
        self._count_out(pieces[1:-1])
        last, handed_over_batch = pieces[-1], None
        if len(pieces) > 1:
            handed_over_batch = _HandedOver(tuple(ends), last.chunk, last.position)
        ahead = dict.fromkeys(list(self._ahead)[len(pieces) - 1 :])
        stores = map(setattr, ends, repeat("delivered_offset"), ends.values())
        more_stores = map(setattr, ends, repeat("consumed_offset"), ends.values())
        # Python calls nothing from here on, so no signal handler runs: the batch and its offsets
        # are handed over together.
        _ = [*stores, *more_stores] if self._consumes_delivered else [*stores]
        self._cursor.position = pieces[0].position
        self._ahead = ahead
        self._handed_over_batch = handed_over_batch
        return messages

    def _available(self) -> tuple[Chunk, ...]:
        """See ``ChunkReader``."""
        handed_over_batch = self._handed_over_batch
        last = () if handed_over_batch is None else (handed_over_batch.chunk,)
        return tuple(dict.fromkeys((*super()._available(), *last, *list(self._ahead))))

    def _count_out(self, pieces: list[BatchPiece[K, V]]) -> None:
        """Subtract the messages of given-up claims, which are not handed over, from the counts."""
        for piece in pieces:
            if not piece.chunk.claim.active:
                self._count(piece.chunk, -len(piece.messages))

    def _may_follow(self, chunk: Chunk) -> bool:
        """Return whether another chunk may follow this one in a batch."""
        return chunk.poison is None and self._commit_ahead is None

    def _chunk_ahead(self, index: int) -> Item | None:
        """Return the chunk at this index ahead, or the queue's head if that is not a chunk."""
        if index < len(self._ahead):
            return list(self._ahead)[index]
        while (item := self._queue.head(0)) is not None:
            if item is self._taken or (isinstance(item, Chunk) and not item.claim.active):
                self._drop(item)
            elif isinstance(item, Chunk):
                self._count(item, len(item.records))
                # Plain stores: it is still to be removed from the queue.
                self._ahead[item] = None
                self._taken = item
                self._queue.remove()
                return item
            else:
                return item
        return None

    def _drop(self, item: Item) -> None:
        if isinstance(item, Chunk):
            self._drop_head(item)
        else:
            self._queue.remove()

    def _process_head(self, *, is_shut: bool) -> Need | BlockingTask:
        """See ``ChunkReader``; chunks already taken off the queue come first."""
        for chunk in self._ahead:
            if self._taken is not None and self._queue.head(0) is self._taken:
                self._drop(self._taken)
            elif chunk.claim.active and is_shut:
                return Need.TRUST
            else:
                rest = {queued: None for queued in self._ahead if queued is not chunk}
                if chunk.claim.active:
                    self._start(chunk)
                else:
                    self._count(chunk, -len(chunk.records))
                    self._queue.release(chunk)
                # A plain store, after those of ``_start``.
                self._ahead = rest
            return Need.NOTHING
        return super()._process_head(is_shut=is_shut)


class Batches(Generic[K, V]):
    """The batches of ``KafkaStream.batches``. Thread: the stream's.

    Args:
        reader: the stream's reader.
        waiting: the stream's waits.
        refuse_others: raises if a task waits for the stream.
        most: ``max_records``.
        max_bytes: the memory of chunks at which a batch is full.
        timeout_ms: how long a batch may take.
    """

    def __init__(
        self,
        reader: BatchReader[K, V],
        waiting: Waiting[K, V],
        *,
        refuse_others: Callable[[], None],
        most: int,
        max_bytes: int,
        timeout_ms: int,
    ) -> None:
        if most < 1 or max_bytes < 1 or timeout_ms < 0:
            raise ValueError(
                f"can't make batches of {most} records and {max_bytes} bytes within {timeout_ms} ms"
            )
        self._reader = reader
        self._waiting = waiting
        self._refuse_others = refuse_others
        self._most = most
        self._max_bytes = max_bytes
        self._timeout_ms = timeout_ms
        self._idle_since_ms: int | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[MessageAndMetadata[K, V]]:
        self._refuse_others()
        deadline = self._waiting.begin(self._idle_since_ms, self._timeout_ms)
        self._idle_since_ms = None
        pieces: list[BatchPiece[K, V]] = []
        self._reader.settle_batch()
        while True:
            need = self._grow(pieces)
            is_due = self._waiting.is_due(deadline)
            if pieces and (need is Need.NOTHING or is_due):
                batch = self._reader.transfer(pieces)
                if batch:
                    return batch
                pieces = []
            elif isinstance(need, BlockingTask):
                self._waiting.run(need)
            elif need is Need.END:
                raise StopIteration
            elif need is not Need.NOTHING:
                self._waiting.rest(need, deadline, has_some=bool(pieces))
                if is_due:
                    self._idle_since_ms = deadline.idle_since_ms
                    return []

    def _grow(self, pieces: list[BatchPiece[K, V]]) -> Need | BlockingTask:
        """Add available messages; return NOTHING if complete, or if this must be repeated."""
        if not pieces:
            found = self._reader.first_piece(self._most)
            if not isinstance(found, BatchPiece):
                return found
            pieces.append(found)
        return self._reader.add_pieces(pieces, self._most, self._max_bytes)
