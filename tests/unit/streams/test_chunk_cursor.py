"""What is in a stream's hands, message by message: the same from both hands."""

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
    """Makes hands of one kind, and chunks that they take."""

    def __init__(self, *, native: bool) -> None:
        self.native = native
        self.clock = ManualClock()
        self.lease = Lease(self.clock)

    def cursor(self, *, consumes_delivered: bool = False) -> AnyCursor:
        """An empty one."""
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
        """A chunk with these records; see ``record_sets.records``."""
        if not self.native:
            return chunk_of(claim, offsets)
        return chunk_in(b"".join(self._entries(offsets)), claim, offsets[0] if offsets else 0)

    def _entries(self, offsets: tuple[int, ...]) -> Iterator[bytes]:
        for number, offset in enumerate(offsets):
            plain = set_of([offset])
            # A compressed set becomes a run of its own.
            yield wrapper_around(offset, gzip_of(plain)) if number % 3 == 2 else plain


def chunk_in(data: bytes, claim: PartitionClaim, fetch_offset: int = 0) -> Chunk:
    """The native chunk that a set becomes."""
    queue = native_queue()
    assert queue.native.put_set(claim, data, fetch_offset) is None
    chunk = queue.take(0)
    assert isinstance(chunk, Chunk)
    return chunk


@pytest.fixture(params=["python", pytest.param("native", marks=needs_native_engine)])
def maker(request: pytest.FixtureRequest) -> Maker:
    """One kind after the other."""
    return Maker(native=request.param == "native")


def begun(maker: Maker, *offsets: int, consumes_delivered: bool = False) -> tuple[AnyCursor, Chunk]:
    """A hand that has begun with a chunk, as a reader does it."""
    claim = claim_of(T1, committed=offsets[0])
    cursor, chunk = (
        maker.cursor(consumes_delivered=consumes_delivered),
        maker.chunk(claim, *offsets),
    )
    claim.delivered_offset = claim.consumed_offset = chunk.fetch_offset
    cursor.chunk = chunk
    return cursor, chunk


def offsets_of(messages: "list[MessageAndMetadata[bytes, bytes]]") -> list[int]:
    """Their offsets."""
    return [message.offset for message in messages]


def test_an_empty_hand_has_nothing(maker: Maker) -> None:
    """However it is asked; and again."""
    cursor = maker.cursor()
    assert (list(cursor), next(iter(cursor), None), cursor.chunk, cursor.is_through) == (
        [],
        None,
        None,
        True,
    )
    assert cursor.peek(5)[0] == []


def test_messages_come_as_they_lie_in_the_log(maker: Maker) -> None:
    """Each with its place, key and value."""
    cursor, chunk = begun(maker, 3, 4, 5, 9, 10)
    found = list(cursor)
    assert [(message.offset, message.key, message.value) for message in found] == [
        record[:3] for record in records(3, 4, 5, 9, 10)
    ]
    assert {(message.topic, message.partition) for message in found} == {T1}
    assert all(isinstance(message, MessageAndMetadata) for message in found)
    assert (cursor.is_through, cursor.chunk) == (True, chunk)
    assert list(cursor) == []


@pytest.mark.parametrize("consumes_delivered", [False, True])
def test_each_message_moves_the_claim(maker: Maker, *, consumes_delivered: bool) -> None:
    """Delivered with the message; consumed with it, or when the next one is asked for."""
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


def test_nothing_comes_of_a_claim_that_was_given_up(maker: Maker) -> None:
    """What was in hand before counts as done with all the same."""
    cursor, chunk = begun(maker, 0, 1, 2)
    next(cursor)
    chunk.claim.active = False
    assert list(cursor) == []
    assert (chunk.claim.consumed_offset, chunk.claim.delivered_offset) == (1, 1)
    assert not cursor.is_through


def test_nothing_comes_when_the_lease_is_over(maker: Maker) -> None:
    """Also where it ends between two messages; it goes on where it stood with the next lease."""
    cursor, _ = begun(maker, 0, 1, 2)
    maker.lease.end_at(1_100)
    next(cursor)
    maker.clock.advance(99)
    assert offsets_of([next(cursor)]) == [1]
    maker.clock.advance(1)
    assert list(cursor) == []
    maker.lease.end_at(1_200)
    assert offsets_of(list(cursor)) == [2]


def test_looking_moves_nothing_until_the_place_is_stored(maker: Maker) -> None:
    """A batch is made first and handed over afterwards, in whatever portions."""
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
    through = [cursor.is_through]
    cursor.position = position
    through.append(cursor.is_through)
    assert through == [False, True]
    assert cursor.peek(1)[0] == []


def test_a_new_chunk_begins_at_its_first_message(maker: Maker) -> None:
    """Whatever was left of the one before, and whatever partition it is of."""
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
    assert (list(cursor), cursor.is_through) == ([], True)


def test_a_chunk_without_records_is_through(maker: Maker) -> None:
    """Such a cursor has nothing to deliver from the beginning."""
    cursor = maker.cursor()
    cursor.chunk = maker.chunk(claim_of())
    assert (cursor.is_through, list(cursor)) == (True, [])


class Stop(Exception):
    """An error for a stream's caller."""


def test_what_the_hand_lacks_the_slow_way_gives(maker: Maker) -> None:
    """Chunk by chunk; errors come through and it goes on; the end is the end."""
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
    """What a stream is to its hand's iterator: it knows both."""

    def __init__(self, cursor: AnyCursor) -> None:
        self.messages = cursor.iterate(self)

    def __call__(self) -> MessageAndMetadata[bytes, bytes]:
        """End it."""
        raise StopIteration


def test_a_hand_in_a_cycle_is_collected(maker: Maker) -> None:
    """A stream's iterator knows the stream."""
    cursor, _ = begun(maker, 0, 1)
    slow = Slow(cursor)
    next(slow.messages)
    gone = weakref.ref(slow)
    del cursor, slow
    gc.collect()
    assert gone() is None


# --- native ones only ----------------------------------------------------------------------------


@needs_native_engine
def test_a_native_cursor_takes_native_chunks_only() -> None:
    """What it had in hand it has still."""
    maker = Maker(native=True)
    cursor, chunk = begun(maker, 0, 1)
    with pytest.raises(TypeError):
        cursor.chunk = chunk_of(claim_of(), [5])
    with pytest.raises(TypeError):
        cursor.chunk = Chunk(claim_of(), 0, 0, None, 0)  # type: ignore[arg-type]
    assert (cursor.chunk, offsets_of(list(cursor))) == (chunk, [0, 1])


@needs_native_engine
def test_a_chunk_that_is_discarded_while_it_is_taken_has_nothing() -> None:
    """Its claim may be given up between any two steps of a reader."""
    cursor, chunk = begun(Maker(native=True), 0, 1)
    chunk.claim.active = False
    chunk.records = ()
    cursor.chunk = chunk
    assert (list(cursor), cursor.is_through, cursor.peek(5)[0]) == ([], True, [])


@needs_native_engine
def test_a_place_belongs_to_its_chunk() -> None:
    """One of another chunk is refused."""
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
def test_runs_come_from_where_the_hand_stands(most: int, read_before: int) -> None:
    """Whole ones and parts of them, as many messages as were asked for, until it is through."""
    maker = Maker(native=True)
    claim = claim_of(committed=0)
    plain = b"".join(set_of(range(begin, begin + 4)) for begin in (0, 4))
    packed = wrapper_around(11, gzip_of(set_of(range(8, 12))))
    cursor: Any = maker.cursor()
    cursor.chunk = chunk_in(plain + packed + set_of([12, 13]), claim)
    got = [next(cursor).offset for _ in range(read_before)]
    while not cursor.is_through:
        runs, position = cursor.peek_runs(most)
        assert sum(len(run) for run in runs) <= most
        got += [record.offset for run in runs for record in run]
        assert [run.first_offset for run in runs] == [run.records()[0].offset for run in runs]
        cursor.position = position
    assert got == list(range(14))
    assert cursor.peek_runs(5)[0] == []


@needs_native_engine
def test_a_message_outlives_its_chunk() -> None:
    """It has its own copy of key and value."""
    maker = Maker(native=True)
    cursor, chunk = begun(maker, 0, 1)
    call: Callable[[], Any] = iter(cursor).__next__
    message = call()
    cursor.chunk = None
    del chunk
    gc.collect()
    assert (message.key, message.value) == records(0)[0][1:3]
