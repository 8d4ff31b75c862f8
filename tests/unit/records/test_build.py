"""Building message sets: layout, offsets inside wrappers, and what can't be written."""

import struct

import pytest

from tests.support.record_sets import records
from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec, decompress


def inner_set(data: bytes, magic: int) -> bytes:
    """Decompress a gzip wrapper with a null key."""
    value_at = 12 + 4 + 2 + 8 * magic + 4 + 4
    return decompress(Codec.GZIP, data[value_at:], magic=magic, max_bytes=10_000)


def inner_offsets(data: bytes, magic: int) -> list[int]:
    """Read the raw offsets inside a gzip wrapper."""
    inner = inner_set(data, magic)
    offsets, position = [], 0
    while position < len(inner):
        offset, size = struct.unpack_from(">qi", inner, position)
        offsets.append(offset)
        position += 12 + size
    return offsets


def test_no_records_are_no_bytes() -> None:
    """An empty set is not wrapped."""
    assert build_message_set([], codec=Codec.GZIP) == b""


def test_magic_1_has_its_timestamp_after_the_attributes() -> None:
    """This is the layout of an uncompressed message with append time."""
    data = build_message_set(
        [Record(7, None, b"v", 0x0102030405060708, TimestampType.LOG_APPEND_TIME)], magic=1
    )
    assert data[:12].hex() == "000000000000000700000017"
    assert data[16:].hex() == "01080102030405060708ffffffff0000000176"


@pytest.mark.parametrize(("magic", "inside"), [(0, [5, 6, 9]), (1, [0, 1, 4])])
def test_wrappers_have_the_last_offset(magic: int, inside: list[int]) -> None:
    """Inside, offsets are absolute in magic 0, and relative to the first in magic 1."""
    data = build_message_set(records(5, 6, 9, magic=magic), magic=magic, codec=Codec.GZIP)
    assert struct.unpack_from(">q", data) == (9,)
    assert inner_offsets(data, magic) == inside


def test_a_wrapper_of_magic_1_has_the_newest_timestamp() -> None:
    """The original's producer does so, too (KIP-32)."""
    some = [
        Record(at, None, b"v", time, TimestampType.CREATE_TIME) for at, time in ((0, 9), (1, 7))
    ]
    data = build_message_set(some, magic=1, codec=Codec.GZIP)
    assert struct.unpack_from(">q", data, 18) == (9,)


def test_append_time_is_an_attribute_of_the_wrapper_only() -> None:
    """The broker does so, too: it sets the wrapper's attribute, and leaves the inside as it was."""
    data = build_message_set(
        [Record(0, None, b"v", 9, TimestampType.LOG_APPEND_TIME)], magic=1, codec=Codec.GZIP
    )
    assert data[17] == 0x08 | Codec.GZIP
    assert inner_set(data, 1)[17] == 0


@pytest.mark.parametrize("magic", [-1, 2])
def test_other_magics_are_refused(magic: int) -> None:
    """Only the two formats of message sets are written."""
    with pytest.raises(LocalProtocolError, match=f"magic {magic}"):
        build_message_set(records(0), magic=magic)


def test_an_offset_that_does_not_fit_is_refused() -> None:
    """The error names the offset."""
    with pytest.raises(LocalProtocolError, match=f"offset {2**63}"):
        build_message_set([Record(2**63, None, None)])


@pytest.mark.parametrize(
    "pair",
    [
        records(1, 0, magic=1),
        [
            Record(0, None, None, 1, TimestampType.CREATE_TIME),
            Record(1, None, None, 1, TimestampType.LOG_APPEND_TIME),
        ],
    ],
)
def test_records_that_one_wrapper_of_magic_1_cannot_hold_are_refused(pair: list[Record]) -> None:
    """Offsets must ascend, and all must have one timestamp type."""
    with pytest.raises(LocalProtocolError, match="to be compressed together"):
        build_message_set(pair, magic=1, codec=Codec.GZIP)


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_are_never_zstd(magic: int) -> None:
    """No broker or consumer reads such messages; batches may be zstd."""
    with pytest.raises(LocalProtocolError, match=f"magic {magic} can't be compressed with zstd"):
        build_message_set(records(0, magic=magic), magic=magic, codec=Codec.ZSTD)
