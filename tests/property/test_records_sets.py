"""Record sets with random content, truncation, damage and noise."""

import zlib
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.engines import each_engine
from tests.support.record_sets import ROOM, decode
from tests.support.shares import examples
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.decode import DecodedSet
from zkconsumer.records.memory import records_bytes

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

BLOBS = st.none() | st.binary(max_size=40)
MAGICS = st.sampled_from([0, 1])
CODECS = st.sampled_from(CODECS_OF_MESSAGES)
COMPRESSING = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
bounded = settings(max_examples=examples(150), deadline=None)


@st.composite
def record_lists(draw: st.DrawFn, magic: int, first: int = 0) -> list[Record]:
    """Draw records with ascending offsets, as one wrapper can hold them."""
    steps = draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    kind = TimestampType.NONE
    times = st.just(-1)
    if magic:
        kind = draw(st.sampled_from([TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]))
        times = st.integers(0, 2**41)
    if kind is TimestampType.LOG_APPEND_TIME:
        times = st.just(draw(times))
    found: list[Record] = []
    for step in steps:
        first += step
        found.append(Record(first, draw(BLOBS), draw(BLOBS), draw(times), kind))
    return found


@st.composite
def record_sets(draw: st.DrawFn) -> tuple[list[Record], bytes]:
    """Draw a set of entries of any magic and codec, and the records in it."""
    every: list[Record] = []
    data = b""
    for _ in range(draw(st.integers(1, 4))):
        magic = draw(MAGICS)
        part = draw(record_lists(magic, first=every[-1].offset if every else 0))
        data += build_message_set(part, magic=magic, codec=draw(CODECS))
        every += part
    return every, data


def boundaries(data: bytes) -> list[int]:
    """Return the positions of all entries of a valid set, and its end."""
    ends = [0]
    while ends[-1] < len(data):
        size = int.from_bytes(data[ends[-1] + 8 : ends[-1] + 12], "big")
        ends.append(ends[-1] + 12 + size)
    return ends


@bounded
@given(record_sets(), st.integers(0, 60))
def test_round_trip_from_any_offset(made: tuple[list[Record], bytes], fetch_offset: int) -> None:
    """Any fetch offset gives exactly the records from there on."""
    every, data = made
    decoded = decode(data, fetch_offset)
    assert decoded.error is None
    assert decoded.records == [record for record in every if record.offset >= fetch_offset]
    assert decoded.valid_bytes == len(data)
    assert decoded.next_offset == max(fetch_offset, every[-1].offset + 1)


@settings(max_examples=examples(25), deadline=None)
@given(record_sets())
def test_a_set_truncated_at_any_byte(made: tuple[list[Record], bytes]) -> None:
    """It gives the complete entries without an error, and the next fetch continues without loss."""
    every, data = made
    ends = boundaries(data)

    @cache
    def rest_from(kept: int, next_offset: int) -> list[Record]:
        """Return the following records, which are the same for any cut within one entry."""
        return list(decode(data[kept:], next_offset).records)

    for size in range(len(data)):
        decoded = decode(data[:size])
        kept = max(end for end in ends if end <= size)
        assert decoded.error is None
        assert decoded.valid_bytes == kept
        assert decoded.records == every[: len(decoded.records)]
        assert [*decoded.records, *rest_from(kept, decoded.next_offset)] == every
        header_is_there = kept == 0 and size >= 12
        assert decoded.first_entry_size_bytes == (ends[1] if header_is_there else None)


@bounded
@given(record_sets(), st.data())
def test_a_flipped_bit_in_a_message_is_always_detected(
    made: tuple[list[Record], bytes], data: st.DataObject
) -> None:
    """Its entry is the error, whichever bit it is, and the entries before it are kept."""
    every, whole = made
    starts = boundaries(whole)[:-1]
    start = data.draw(st.sampled_from(starts))
    size = int.from_bytes(whole[start + 8 : start + 12], "big")
    bit = data.draw(st.integers((start + 12) * 8, (start + 12 + size) * 8 - 1))
    damaged = bytearray(whole)
    damaged[bit // 8] ^= 1 << bit % 8
    decoded = decode(bytes(damaged))
    before = decode(whole[:start])
    assert decoded.error is not None
    assert (decoded.error.position, decoded.valid_bytes) == (start, start)
    assert decoded.records == before.records == every[: len(before.records)]
    assert decoded.next_offset == before.next_offset


def check(decoded: DecodedSet, fetch_offset: int, size: int) -> None:
    """Check what holds for any bytes."""
    assert decoded.next_offset >= fetch_offset
    assert 0 <= decoded.valid_bytes <= size
    assert all(record.offset >= fetch_offset for record in decoded.records)
    assert decoded.memory_bytes == records_bytes(decoded.records)
    if decoded.error is not None:
        assert decoded.error.position == decoded.valid_bytes


@settings(max_examples=examples(400), deadline=None)
@given(st.binary(max_size=120), st.integers(0, 2**63 - 1))
def test_any_bytes_decode_to_a_value(noise: bytes, fetch_offset: int) -> None:
    """Noise gives records or an error value, never an exception."""
    check(decode(noise, fetch_offset), fetch_offset, len(noise))


@settings(max_examples=examples(300), deadline=None)
@given(COMPRESSING, MAGICS, st.binary(max_size=120))
def test_any_inner_bytes_decode_to_a_value(codec: Codec, magic: int, noise: bytes) -> None:
    """Noise inside a valid wrapper gives records or an error value about that wrapper."""
    data = wrap_message_set(noise, offset=10, codec=codec, magic=magic)
    decoded = decode(data)
    check(decoded, 0, len(data))
    assert decoded.error is not None or len(decoded.records) * 26 <= len(noise)


@settings(max_examples=examples(300), deadline=None)
@given(record_lists(magic=0), COMPRESSING, st.data())
def test_damaged_compressed_data_decodes_to_a_value(
    some: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """A flipped bit in the compressed bytes, with a right CRC, respects the size limit."""
    value = bytearray(build_message_set(some, codec=codec)[26:])
    bit = data.draw(st.integers(0, len(value) * 8 - 1))
    value[bit // 8] ^= 1 << bit % 8
    wrapper = Record(some[-1].offset, None, bytes(value))
    plain = bytearray(build_message_set([wrapper]))
    plain[17] = codec
    plain[12:16] = crc_of(bytes(plain[16:]))
    decoded = decode(bytes(plain), room=ROOM)
    check(decoded, 0, len(plain))
    assert sum(len(record.value or b"") for record in decoded.records) <= ROOM


def crc_of(body: bytes) -> bytes:
    """Compute a message's CRC field."""
    return zlib.crc32(body).to_bytes(4, "big")
