"""A stream's cursor, message by message: the Python and the native one behave the same."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.chunks import T1, chunk_of, claim_of
from tests.support.manual_clock import ManualClock
from tests.support.native_chunks import cursor as native_cursor
from tests.support.native_chunks import native_queue, set_of
from tests.support.queues import needs_native_engine
from tests.support.record_sets import gzip_of, records, wrapper_around
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.streams.chunk_cursor import ChunkCursor, PythonChunkCursor
from zkconsumer.streams.lease import Lease
from zkconsumer.streams.message import MessageAndMetadata

AnyCursor = ChunkCursor[bytes, bytes]


class Maker:
    """Creates cursors of one kind, and chunks for them."""

    def __init__(self, *, native: bool) -> None:
        self.native = native
        self.clock = ManualClock()
        self.lease = Lease(self.clock)

    def cursor(self, *, consumes_delivered: bool = False) -> AnyCursor:
        """Create a cursor without a chunk."""
        if self.native:
            made: Any = native_cursor(consumes_delivered=consumes_delivered, lease=self.lease)
            return made  # type: ignore[no-any-return]
        return PythonChunkCursor(
            consumes_delivered=consumes_delivered,
            lease=self.lease,
            key_decoder=None,
            value_decoder=None,
        )

    def chunk(self, claim: PartitionClaim, *offsets: int) -> Chunk:
        """Return a chunk with these records; see ``record_sets.records``."""
        if not self.native:
            return chunk_of(claim, offsets)
        return chunk_in(b"".join(self._entries(offsets)), claim, offsets[0] if offsets else 0)

    def _entries(self, offsets: tuple[int, ...]) -> Iterator[bytes]:
        for number, offset in enumerate(offsets):
            plain = set_of([offset])
            # A compressed set becomes a run of its own.
            yield wrapper_around(offset, gzip_of(plain)) if number % 3 == 2 else plain


def chunk_in(data: bytes, claim: PartitionClaim, fetch_offset: int = 0) -> Chunk:
    """Return the native chunk of a record set."""
    queue = native_queue()
    assert queue.native.put_set(claim, data, fetch_offset) is None
    chunk = queue.take(0)
    assert isinstance(chunk, Chunk)
    return chunk


@pytest.fixture(params=["python", pytest.param("native", marks=needs_native_engine)])
def maker(request: pytest.FixtureRequest) -> Maker:
    """Return a maker of Python cursors, then one of native cursors."""
    return Maker(native=request.param == "native")


def begun(maker: Maker, *offsets: int, consumes_delivered: bool = False) -> tuple[AnyCursor, Chunk]:
    """Return a cursor that has begun with a chunk, as a reader begins."""
    claim = claim_of(T1, committed=offsets[0])
    cursor, chunk = (
        maker.cursor(consumes_delivered=consumes_delivered),
        maker.chunk(claim, *offsets),
    )
    claim.delivered_offset = claim.consumed_offset = chunk.fetch_offset
    cursor.chunk = chunk
    return cursor, chunk


def offsets_of(messages: "list[MessageAndMetadata[bytes, bytes]]") -> list[int]:
    """Return the offsets of messages."""
    return [message.offset for message in messages]


def test_a_cursor_without_a_chunk_yields_nothing(maker: Maker) -> None:
    """A cursor without a chunk yields nothing, however and however often it is asked."""
    cursor = maker.cursor()
    assert (list(cursor), next(iter(cursor), None), cursor.chunk, cursor.is_exhausted) == (
        [],
        None,
        None,
        True,
    )
    assert cursor.peek(5)[0] == []


def test_messages_come_in_log_order(maker: Maker) -> None:
    """Messages come in log order, each with its topic-partition, offset, key and value."""
    cursor, chunk = begun(maker, 3, 4, 5, 9, 10)
    found = list(cursor)
    assert [(message.offset, message.key, message.value) for message in found] == [
        record[:3] for record in records(3, 4, 5, 9, 10)
    ]
    assert {(message.topic, message.partition) for message in found} == {T1}
    assert all(isinstance(message, MessageAndMetadata) for message in found)
    assert (cursor.is_exhausted, cursor.chunk) == (True, chunk)
    assert list(cursor) == []


@pytest.mark.parametrize("consumes_delivered", [False, True])
def test_each_message_advances_the_claims_offsets(
    maker: Maker, *, consumes_delivered: bool
) -> None:
    """A message advances the delivered offset; the consumed one, too, or with the next message."""
    cursor, chunk = begun(maker, 3, 7, 8, consumes_delivered=consumes_delivered)
    claim, messages = chunk.claim, iter(cursor)
    seen = [(claim.consumed_offset, claim.delivered_offset)]
    for _ in range(3):
        next(messages)
        seen.append((claim.consumed_offset, claim.delivered_offset))
    assert next(cursor, None) is None
    seen.append((claim.consumed_offset, claim.delivered_offset))
    late = [(3, 3), (3, 4), (4, 8), (8, 9), (9, 9)]
    assert seen == ([(n, n) for n in (3, 4, 8, 9, 9)] if consumes_delivered else late)


def test_a_claim_that_was_given_up_yields_nothing(maker: Maker) -> None:
    """After its claim is given up, a cursor yields nothing; the last message is still consumed."""
    cursor, chunk = begun(maker, 0, 1, 2)
    next(cursor)
    chunk.claim.active = False
    assert list(cursor) == []
    assert (chunk.claim.consumed_offset, chunk.claim.delivered_offset) == (1, 1)
    assert not cursor.is_exhausted


def test_a_cursor_yields_nothing_without_a_lease(maker: Maker) -> None:
    """A cursor yields nothing without a lease, and continues with the next one."""
    cursor, _ = begun(maker, 0, 1, 2)
    maker.lease.end_at(1_100)
    next(cursor)
    maker.clock.advance(99)
    assert offsets_of([next(cursor)]) == [1]
    maker.clock.advance(1)
    assert list(cursor) == []
    maker.lease.end_at(1_200)
    assert offsets_of(list(cursor)) == [2]


def test_peeking_advances_nothing_until_the_position_is_stored(maker: Maker) -> None:
    """Peeking advances nothing until the position is stored, whatever the size of a batch."""
    cursor, chunk = begun(maker, *range(20))
    next(cursor)
    before = (chunk.claim.consumed_offset, chunk.claim.delivered_offset)
    first, _ = cursor.peek(7)
    again, position = cursor.peek(7)
    assert offsets_of(first) == offsets_of(again) == list(range(1, 8))
    cursor.position = position
    assert (chunk.claim.consumed_offset, chunk.claim.delivered_offset) == before
    assert next(cursor).offset == 8
    rest, position = cursor.peek(100)
    assert offsets_of(rest) == list(range(9, 20))
    through = [cursor.is_exhausted]
    cursor.position = position
    through.append(cursor.is_exhausted)
    assert through == [False, True]
    assert cursor.peek(1)[0] == []


def test_a_new_chunk_begins_at_its_first_message(maker: Maker) -> None:
    """A new chunk starts at its first message, whatever was left of the one before it."""
    cursor, _ = begun(maker, 0, 1, 2)
    next(cursor)
    other = claim_of(committed=50)
    cursor.chunk = maker.chunk(other, 50, 51)
    assert [(message.topic, message.partition, message.offset) for message in cursor] == [
        (*other.topic_partition, 50),
        (*other.topic_partition, 51),
    ]
    assert (other.consumed_offset, other.delivered_offset) == (52, 52)
    cursor.chunk = None
    assert (list(cursor), cursor.is_exhausted) == ([], True)


def test_a_chunk_without_records_is_exhausted(maker: Maker) -> None:
    """A cursor whose chunk has no records is through from the beginning."""
    cursor = maker.cursor()
    cursor.chunk = maker.chunk(claim_of())
    assert (cursor.is_exhausted, list(cursor)) == (True, [])


class Stop(Exception):
    """An error for the stream's caller."""


def test_the_slow_path_loads_the_next_chunk(maker: Maker) -> None:
    """After its chunk a cursor calls the slow path, whose errors are raised without ending it."""
    cursor = maker.cursor()
    claim = claim_of()
    todo: list[object] = [
        maker.chunk(claim, 0, 1),
        Stop(),
        maker.chunk(claim, 2),
        maker.chunk(claim, 3, 4, 5),
    ]

    def slow() -> MessageAndMetadata[bytes, bytes]:
        while todo:
            item = todo.pop(0)
            if isinstance(item, Exception):
                raise item
            assert isinstance(item, Chunk)
            cursor.chunk = item
            for message in cursor:
                return message
        raise StopIteration

    messages = cursor.iterate(slow)
    assert iter(messages) is not None
    got = [next(messages).offset, next(messages).offset]
    with pytest.raises(Stop):
        next(messages)
    got.append(next(messages).offset)
    other = cursor.iterate(slow)
    got += [next(other).offset, next(messages).offset, next(other).offset]
    assert got == [0, 1, 2, 3, 4, 5]
    assert (list(messages), list(other)) == ([], [])


class Slow:
    """Stands in for a stream, which refers to its cursor's iterator and is called by it."""

    def __init__(self, cursor: AnyCursor) -> None:
        self.messages = cursor.iterate(self)

    def __call__(self) -> MessageAndMetadata[bytes, bytes]:
        """End the iteration."""
        raise StopIteration


def test_a_cursor_in_a_reference_cycle_is_collected(maker: Maker) -> None:
    """A cursor in a reference cycle is collected, as a stream and its iterator are one."""
    cursor, _ = begun(maker, 0, 1)
    slow = Slow(cursor)
    next(slow.messages)
    gone = weakref.ref(slow)
    del cursor, slow
    gc.collect()
    assert gone() is None


# --- only the native cursor ----------------------------------------------------------------------


@needs_native_engine
def test_a_native_cursor_takes_native_chunks_only() -> None:
    """A native cursor refuses other chunks, and keeps the one that it has."""
    maker = Maker(native=True)
    cursor, chunk = begun(maker, 0, 1)
    with pytest.raises(TypeError):
        cursor.chunk = chunk_of(claim_of(), [5])
    with pytest.raises(TypeError):
        cursor.chunk = Chunk(claim_of(), 0, 0, None, 0)  # type: ignore[arg-type]
    assert (cursor.chunk, offsets_of(list(cursor))) == (chunk, [0, 1])


@needs_native_engine
def test_a_chunk_that_is_emptied_while_it_is_taken_yields_nothing() -> None:
    """A chunk that is emptied while a reader takes it yields nothing: its claim was given up."""
    cursor, chunk = begun(Maker(native=True), 0, 1)
    chunk.claim.active = False
    chunk.records = ()
    cursor.chunk = chunk
    assert (list(cursor), cursor.is_exhausted, cursor.peek(5)[0]) == ([], True, [])


@needs_native_engine
def test_a_position_belongs_to_its_chunk() -> None:
    """The position of another chunk is refused."""
    maker = Maker(native=True)
    cursor, _ = begun(maker, 0, 1)
    _, position = cursor.peek(1)
    cursor.chunk = maker.chunk(claim_of(), 7, 8)
    with pytest.raises(ValueError, match="another chunk"):
        cursor.position = position
    assert offsets_of(list(cursor)) == [7, 8]


@needs_native_engine
@pytest.mark.parametrize("most", [1, 2, 5, 1_000])
@pytest.mark.parametrize("read_before", [0, 1, 2, 4])
def test_runs_start_at_the_cursors_position(most: int, read_before: int) -> None:
    """Runs start at the cursor's position, and hold at most as many messages as requested."""
    maker = Maker(native=True)
    claim = claim_of(committed=0)
    plain = b"".join(set_of(range(begin, begin + 4)) for begin in (0, 4))
    packed = wrapper_around(11, gzip_of(set_of(range(8, 12))))
    cursor: Any = maker.cursor()
    cursor.chunk = chunk_in(plain + packed + set_of([12, 13]), claim)
    got = [next(cursor).offset for _ in range(read_before)]
    while not cursor.is_exhausted:
        runs, position = cursor.peek_runs(most)
        assert sum(len(run) for run in runs) <= most
        got += [record.offset for run in runs for record in run]
        assert [run.first_offset for run in runs] == [run.records()[0].offset for run in runs]
        cursor.position = position
    assert got == list(range(14))
    assert cursor.peek_runs(5)[0] == []


@needs_native_engine
def test_a_message_outlives_its_chunk() -> None:
    """A message has its own copy of key and value, and outlives its chunk."""
    maker = Maker(native=True)
    cursor, chunk = begun(maker, 0, 1)
    call: Callable[[], Any] = iter(cursor).__next__
    message = call()
    cursor.chunk = None
    del chunk
    gc.collect()
    assert (message.key, message.value) == records(0)[0][1:3]
