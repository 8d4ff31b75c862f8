"""Messages many at a time: lists of them, from whatever chunks and partitions come.

Nothing moves while a batch is gathered: chunks are taken off the queue and looked at. Then all of
it is handed over by stores that no signal handler can part. From then on a batch is what a single
message is elsewhere: in hand, and done with when the next one is asked for.

A batch ends early in front of what comes between messages: what can't be read, an error, the end,
and with ``at_most_once`` the next commit (so that never more than one chunk of a partition can be
lost). Source: none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, Self, TypeVar

from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.progress import Progress
from zkconsumer.streams.chunk_cursor import ChunkCursor
from zkconsumer.streams.chunk_queue import Item
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.reader import BlockingTask, ChunkReader, Need, ReaderComponents
from zkconsumer.streams.waiting import Waiting

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class BatchPiece(Generic[K, V]):
    """What a batch has of one chunk, and the place behind it.

    All pieces but the last go up to the end of their chunk.
    """

    chunk: Chunk
    messages: list[MessageAndMetadata[K, V]]
    place: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Passage:
    """A batch of several chunks in the caller's hands: what there is to do when it is done with.

    Attributes:
        progresses: whose offsets it moved.
        chunk: its last chunk, which is in hand from then on.
        place: how far that was handed over.
    """

    progresses: Sequence[Progress]
    chunk: Chunk
    place: Any


class BatchReader(ChunkReader[K, V]):
    """A reader that gives batches, too. Thread: the stream's."""

    def __init__(self, parts: ReaderComponents[K, V]) -> None:
        super().__init__(parts)
        # Chunks that were taken off the queue and are not in hand yet, in order.
        self._ahead: dict[Chunk, None] = {}
        self._passage: _Passage | None = None

    def turn(self) -> Need | BlockingTask:
        """See ``ChunkReader``; a batch in hand is done with."""
        self.settle_batch()
        return super().turn()

    def settle_batch(self) -> None:
        """The next messages are asked for, so what is in hand is done with."""
        passage = self._passage
        if passage is not None:
            for progress in passage.progresses:
                progress.consumed_offset = progress.delivered_offset
            cursor, before = self._cursors.of(passage.chunk), self._cursor
            if cursor is not before:
                before.chunk = None
            # Plain stores from here on: what is in hand now is what the batch came to.
            cursor.chunk = passage.chunk
            # What was given up may have been emptied: then the place is in nothing.
            if passage.chunk.claim.active:
                cursor.place = passage.place
            self._cursor = cursor
            self._passage = None
        chunk = self._cursor.chunk
        if chunk is not None:
            chunk.claim.consumed_offset = chunk.claim.delivered_offset

    def ready_cursor(self) -> ChunkCursor[K, V] | None:
        """Behind a ``turn`` that needs nothing: the hand, if it has messages to look at."""
        chunk = self._cursor.chunk
        is_ready = chunk is not None and chunk.claim.active and not self._cursor.is_through
        return self._cursor if is_ready else None

    def transfer_part(self, cursor: ChunkCursor[K, V], place: Any, behind: int) -> bool:
        """Hand over what was seen in the hand, up to this place and offset; False if none may be.

        Raises:
            ConsumerForked: this is a forked child.
        """
        chunk = cursor.chunk
        if chunk is None or self._gate.is_shut() or not chunk.claim.active:
            return False
        # Plain stores from here on, as in the hand.
        cursor.place = place
        chunk.claim.delivered_offset = behind
        if self._consumes_in_hand:
            chunk.claim.consumed_offset = behind
        return True

    def first_piece(self, most: int) -> BatchPiece[K, V] | Need | BlockingTask:
        """Begin a batch with what is in hand, or go one step towards that, as ``turn`` does."""
        need = self.turn()
        cursor = self.ready_cursor()
        if need is not Need.NOTHING or cursor is None or cursor.chunk is None:
            return need
        found, place = cursor.look(most)
        return BatchPiece(cursor.chunk, found, place)

    def add_pieces(self, pieces: list[BatchPiece[K, V]], most: int, max_bytes: int) -> Need:
        """Add what is queued to a batch; NOTHING where it is to be handed over as it is.

        Raises:
            ConsumerForked: this is a forked child, for which the queue is nothing to touch.
        """
        self.check()
        count = sum(len(piece.messages) for piece in pieces)
        size_bytes = sum(piece.chunk.size_bytes for piece in pieces)
        while count < most and size_bytes < max_bytes and self._may_follow(pieces[-1].chunk):
            # All of it is in the batch: the caller's memory from now on.
            self._queue.done_with(pieces[-1].chunk)
            item = self._chunk_ahead(len(pieces) - 1)
            if item is None:
                return Need.ITEM
            if not isinstance(item, Chunk):
                break
            found, place = self._cursors.another(item).look(most - count)
            pieces.append(BatchPiece(item, found, place))
            count += len(found)
            size_bytes += item.size_bytes
        return Need.NOTHING

    def transfer(self, pieces: list[BatchPiece[K, V]]) -> list[MessageAndMetadata[K, V]]:
        """Hand over what is still ours of a batch; nothing where that is nothing, or none may be.

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
        # Behind the work on them: a process may be stopped amid that.
        if not messages or self._gate.is_shut():
            return []
        # Of the first and the last one the turn counts what is left, when it lets them go.
        self._count_out(pieces[1:-1])
        last, passage = pieces[-1], None
        if len(pieces) > 1:
            passage = _Passage(tuple(ends), last.chunk, last.place)
        ahead = dict.fromkeys(list(self._ahead)[len(pieces) - 1 :])
        stores = map(setattr, ends, repeat("delivered_offset"), ends.values())
        more_stores = map(setattr, ends, repeat("consumed_offset"), ends.values())
        # Nothing is called from here on by Python, so that no signal handler runs: the batch and
        # its offsets are handed over together.
        _ = [*stores, *more_stores] if self._consumes_in_hand else [*stores]
        self._cursor.place = pieces[0].place
        self._ahead = ahead
        self._passage = passage
        return messages

    def _available(self) -> tuple[Chunk, ...]:
        """See ``ChunkReader``."""
        passage = self._passage
        last = () if passage is None else (passage.chunk,)
        return tuple(dict.fromkeys((*super()._available(), *last, *list(self._ahead))))

    def _count_out(self, pieces: list[BatchPiece[K, V]]) -> None:
        """Those that were given up are not handed over."""
        for piece in pieces:
            if not piece.chunk.claim.active:
                self._count(piece.chunk, -len(piece.messages))

    def _may_follow(self, chunk: Chunk) -> bool:
        """Return whether another chunk may follow this one in a batch."""
        return chunk.poison is None and self._commit_ahead is None

    def _chunk_ahead(self, index: int) -> Item | None:
        """The chunk of this number ahead; else what the queue has, which is no chunk then."""
        if index < len(self._ahead):
            return list(self._ahead)[index]
        while (item := self._queue.head(0)) is not None:
            if item is self._taken or (isinstance(item, Chunk) and not item.claim.active):
                self._drop(item)
            elif isinstance(item, Chunk):
                self._count(item, len(item.records))
                # Plain stores: it is to be taken from the queue.
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

    def _look(self, *, is_shut: bool) -> Need | BlockingTask:
        """See ``ChunkReader``: chunks that were taken already come first."""
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
                    self._queue.done_with(chunk)
                # A plain store behind those in there.
                self._ahead = rest
            return Need.NOTHING
        return super()._look(is_shut=is_shut)


class Batches(Generic[K, V]):
    """What ``KafkaStream.batches`` gives. Thread: the stream's.

    Args:
        reader: of the stream.
        waiting: how the stream waits.
        refuse_others: raises where somebody else waits for the stream.
        most: ``max_records``.
        max_bytes: with chunks of so much a batch is full.
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
                f"no batches of {most} records and {max_bytes} bytes within {timeout_ms} ms"
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
        """Add to the pieces what is there; NOTHING where they are a batch, or may be begun."""
        if not pieces:
            found = self._reader.first_piece(self._most)
            if not isinstance(found, BatchPiece):
                return found
            pieces.append(found)
        return self._reader.add_pieces(pieces, self._most, self._max_bytes)
