"""Which messages with keys the fast path reads, and before which it stops."""

import pytest

from tests.support.record_sets import raw_message
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.entries import Gathered
from zkconsumer.records.keyed import read_keyed
from zkconsumer.records.memory import records_bytes

SOME = [Record(offset, b"k" * offset, b"v" * (20 - offset)) for offset in range(5, 15)]
NEXT = build_message_set([Record(20, b"key!", b"12345678")])


def with_byte(at: int, byte: int) -> bytes:
    """Return the next message with one byte changed, and its former CRC."""
    return NEXT[:at] + bytes([byte]) + NEXT[at + 1 :]


def read(data: bytes, fetch_offset: int = 0, position: int = 0) -> tuple[Gathered, int]:
    """Return what was read from a position on, and the position after it."""
    gathered = Gathered(fetch_offset, 0)
    return gathered, read_keyed(data, position, gathered)


def test_all_messages_with_keys_are_read() -> None:
    """All are read, whatever their sizes and wherever they begin."""
    data = build_message_set(SOME)
    gathered, position = read(b"12345" + data, position=5)
    assert gathered.rows == SOME
    assert (gathered.next_offset, position) == (15, 5 + len(data))
    assert gathered.memory_bytes == records_bytes(SOME)


def test_a_truncated_message_is_left() -> None:
    """This holds wherever the set was truncated."""
    data = build_message_set(SOME[:1])
    for size in range(len(NEXT)):
        gathered, position = read(data + NEXT[:size])
        assert (gathered.rows, position) == (SOME[:1], len(data))


def test_a_truncated_message_with_a_matching_crc_is_left() -> None:
    """The CRC may have been computed for the truncated bytes."""
    truncated = bytearray(raw_message(20, b"\x00\x00\x00\x01k\x00\x00\x00\x0912345"))
    truncated[11] += 4
    assert read(bytes(truncated))[1] == 0


@pytest.mark.parametrize(
    "other",
    [
        build_message_set([Record(20, None, b"12345678")]),
        build_message_set([Record(20, b"", b"12345678")]),
        build_message_set([Record(20, b"key!", b"")]),
        build_message_set([Record(20, b"key!", None)]),
        build_message_set([Record(20, b"key!", b"12345678", 7)], magic=1),
        build_message_set([Record(20, b"key!", b"12345678")], codec=Codec.GZIP),
        raw_message(20, b"\x00\x00\x00\x04key!\x00\x00\x00\x0812345678", attributes=8),
        raw_message(20, b"\xff\xff\xff\xfekey!\x00\x00\x00\x0812345678"),
        raw_message(20, b"\x7f\xff\xff\xffkey!\x00\x00\x00\x0812345678"),
        raw_message(20, b"\x00\x00\x00\x04key!\x00\x00\x00\x0712345678"),
        raw_message(20, b"\x00\x00\x00\x04key!\x00\x00\x00\x0912345678"),
        raw_message(20, b"\x00\x00\x00\x04key!\xff\xff\xff\xff12345678"),
        with_byte(0, 0xFF),
        with_byte(8, 0xFF),
        with_byte(11, NEXT[11] + 1),
        with_byte(15, NEXT[15] ^ 1),
        with_byte(22, 0),
        with_byte(37, 0),
        bytes(40),
        b"\xff" * 40,
    ],
    ids=lambda data: data[:38].hex(),
)
@pytest.mark.parametrize("some", [SOME, []])
def test_it_stops_before_any_other_message(some: list[Record], other: bytes) -> None:
    """Null or empty keys and values, other formats and damage are left to the full decoder."""
    front = build_message_set(some)
    gathered, position = read(front + other + NEXT)
    assert (gathered.rows, position) == (some, len(front))
    assert gathered.memory_bytes == records_bytes(some)


def test_it_stops_where_offsets_do_not_ascend() -> None:
    """An offset that does not ascend is left to the full decoder."""
    again = [Record(14, b"k", b"again"), Record(15, b"k", b"more")]
    gathered, position = read(build_message_set([*SOME, *again]))
    assert (gathered.rows, gathered.next_offset) == (SOME, 15)
    assert position == len(build_message_set(SOME))


@pytest.mark.parametrize(("first", "fetch_offset"), [(5, 6), (-2, -5)])
def test_below_the_fetch_offset_or_0_it_reads_nothing(first: int, fetch_offset: int) -> None:
    """Messages to skip, and invalid offsets, are left to the full decoder."""
    data = build_message_set([Record(first, b"k", b"v"), Record(first + 2, b"k", b"v")])
    gathered, position = read(data, fetch_offset)
    assert (gathered.rows, gathered.next_offset, position) == ([], fetch_offset, 0)
    assert gathered.memory_bytes == 0
