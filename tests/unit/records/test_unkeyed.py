"""Which messages the fast path reads, and before which it stops."""

import pytest

from tests.support.record_sets import raw_message
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.entries import Gathered
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.unkeyed import read_unkeyed

ALIKE = [Record(offset, None, b"%08d" % offset) for offset in range(5, 15)]
VARIED = [Record(offset, None, b"v" * offset) for offset in range(5, 15)]
LAST = Record(20, None, b"the last one")
NEXT = build_message_set([Record(20, None, b"12345678")])


def with_byte(at: int, byte: int) -> bytes:
    """Return the next message with one byte changed, and its former CRC."""
    return NEXT[:at] + bytes([byte]) + NEXT[at + 1 :]


def read(data: bytes, fetch_offset: int = 0, position: int = 0) -> tuple[Gathered, int]:
    """Return what was read from a position on, and the position after it."""
    gathered = Gathered(fetch_offset, 0)
    return gathered, read_unkeyed(data, position, gathered)


def test_all_messages_of_one_size_are_read() -> None:
    """All are read, even the last one."""
    data = build_message_set(ALIKE)
    gathered, position = read(data)
    assert gathered.rows == ALIKE
    assert (gathered.next_offset, position) == (15, len(data))
    assert gathered.memory_bytes == records_bytes(ALIKE)


def test_all_messages_of_various_sizes_are_read_but_the_last() -> None:
    """After the last one there is no size to compare; a truncated header is not enough."""
    data = build_message_set(VARIED)
    without_last = len(build_message_set(VARIED[:-1]))
    for following in (b"", bytes(11)):
        gathered, position = read(data + following)
        assert gathered.rows == VARIED[:-1]
        assert (gathered.next_offset, position) == (14, without_last)
        assert gathered.memory_bytes == records_bytes(VARIED[:-1])
    assert read(data + bytes(12))[1] == len(data)


def test_one_size_may_follow_another() -> None:
    """Then they are read one by one, up to a truncated one."""
    data = build_message_set([*ALIKE, LAST, *VARIED])
    gathered, position = read(data)
    assert gathered.rows == [*ALIKE, LAST]
    assert position == len(build_message_set([*ALIKE, LAST]))


def test_reading_begins_at_the_position() -> None:
    """It may be in the middle of the data."""
    data = build_message_set(ALIKE)
    gathered, position = read(b"12345" + data, position=5)
    assert (gathered.rows, position) == (ALIKE, 5 + len(data))


@pytest.mark.parametrize(
    "other",
    [
        build_message_set([Record(20, b"", b"12345678")]),
        build_message_set([Record(20, b"key", b"12345678")]),
        build_message_set([Record(20, None, b"")]),
        build_message_set([Record(20, None, None)]),
        build_message_set([Record(20, None, bytes(2035))]),
        build_message_set([Record(20, None, b"12345678", 7)], magic=1),
        build_message_set([LAST], codec=Codec.GZIP),
        raw_message(20, b"\xff\xff\xff\xff\x00\x00\x00\x0812345678", attributes=8),
        raw_message(20, b"\xff\xff\xff\xfe\x00\x00\x00\x0812345678"),
        raw_message(20, b"\xff\xff\xff\xff\x00\x00\x00\x0712345678"),
        with_byte(11, 21),  # a size that contradicts the value's
        with_byte(11, 23),
        with_byte(15, NEXT[15] ^ 1),
        with_byte(16, 1),
        with_byte(17, 1),
        with_byte(21, 0),
        with_byte(25, 7),
        with_byte(33, 0),
        bytes(26),
        b"\xff" * 26,
    ],
    ids=lambda data: data[8:34].hex(),
)
@pytest.mark.parametrize("some", [ALIKE, VARIED[:-1], []])
def test_it_stops_before_any_other_message(some: list[Record], other: bytes) -> None:
    """Keys, nulls, large values, other formats and damage are left to the full decoder."""
    front = build_message_set(some)
    gathered, position = read(front + other + build_message_set([Record(30, None, b"more")]))
    assert (gathered.rows, position) == (some, len(front))


@pytest.mark.parametrize("some", [ALIKE, VARIED])
def test_it_stops_where_offsets_do_not_ascend(some: list[Record]) -> None:
    """An offset that does not ascend is left to the full decoder."""
    again = [Record(14, None, some[-1].value), Record(15, None, b"more")]
    gathered, position = read(build_message_set([*some, *again]))
    assert (gathered.rows, gathered.next_offset) == (some, 15)
    assert position == len(build_message_set(some))


@pytest.mark.parametrize("some", [ALIKE, VARIED])
def test_below_the_fetch_offset_it_reads_nothing(some: list[Record]) -> None:
    """Messages to skip are left to the full decoder."""
    gathered, position = read(build_message_set(some), fetch_offset=6)
    assert (gathered.rows, gathered.next_offset, position) == ([], 6, 0)
    assert gathered.memory_bytes == 0


def test_no_negative_offset_is_read() -> None:
    """A negative offset is refused, wherever reading begins."""
    data = build_message_set([Record(-2, None, b"one"), Record(-1, None, b"two")])
    assert read(data, fetch_offset=-5)[1] == 0
