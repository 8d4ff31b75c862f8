"""Compressed sets of magic 0 and 1: offsets, resuming, nesting, timestamps, damage, limits."""

import tracemalloc

import pytest

from tests.support.engines import each_engine
from tests.support.record_sets import (
    decode,
    gzip_of,
    gzip_of_zeros,
    raw_message,
    records,
    wrapper_around,
)
from zkconsumer.errors import UnsupportedCodec
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.legacy import MAX_DEPTH

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
TEN = {magic: records(*range(10, 20), magic=magic) for magic in (0, 1)}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_compressed_set_has_its_records(codec: Codec, magic: int) -> None:
    """Offsets are those of the log, whichever way the format counts inside."""
    data = build_message_set(TEN[magic], magic=magic, codec=codec)
    decoded = decode(data, fetch_offset=10)
    assert decoded.error is None
    assert decoded.records == TEN[magic]
    assert (decoded.next_offset, decoded.valid_bytes) == (20, len(data))


@pytest.mark.parametrize("magic", [0, 1])
def test_reading_resumes_in_the_middle(magic: int) -> None:
    """The broker returns the whole set; records below the fetch offset are dropped."""
    data = build_message_set(TEN[magic], magic=magic, codec=Codec.GZIP)
    decoded = decode(data, fetch_offset=15)
    assert decoded.records == TEN[magic][5:]
    assert decoded.next_offset == 20


def test_a_set_with_nothing_wanted_still_advances() -> None:
    """After compaction a wrapper's offset may be beyond its last record."""
    inner = build_message_set(TEN[0][:3])
    data = wrap_message_set(inner, offset=19, codec=Codec.GZIP)
    decoded = decode(data, fetch_offset=15)
    assert decoded.error is None
    assert (list(decoded.records), decoded.next_offset) == ([], 20)


@pytest.mark.parametrize("magic", [0, 1])
def test_empty_wrappers_are_skipped(magic: int) -> None:
    """A set without messages, or without any bytes, only advances the position."""
    empty = wrap_message_set(b"", offset=4, codec=Codec.GZIP, magic=magic)
    no_bytes = wrapper_around(5, b"", magic=magic)
    decoded = decode(empty + no_bytes + build_message_set(records(6)), fetch_offset=4)
    assert decoded.records == records(6)
    assert decoded.next_offset == 7


def test_a_wrapper_without_value_is_corrupt() -> None:
    """Null is no compressed set."""
    null_value = b"\xff" * 8
    decoded = decode(raw_message(5, null_value, attributes=1))
    assert decoded.error is not None
    assert decoded.error.reason == "compressed message set without a value"


def test_a_key_on_a_wrapper_is_ignored() -> None:
    """Wrappers have no key, but one does no harm."""
    body = b"\x00\x00\x00\x01k" + b"\x00\x00\x00\x00"
    assert decode(raw_message(5, body, attributes=1)).next_offset == 6


def test_wrappers_and_plain_messages_mix() -> None:
    """Producers with different codecs write one log."""
    every = records(*range(12))
    data = (
        build_message_set(every[:3])
        + build_message_set(every[3:6], codec=Codec.SNAPPY)
        + build_message_set(every[6:8])
        + build_message_set(every[8:], codec=Codec.LZ4)
    )
    assert decode(data, fetch_offset=1).records == every[1:]


def test_nested_sets_are_decompressed() -> None:
    """The records of a nested set appear at its position."""
    nested = build_message_set(TEN[0][3:6], codec=Codec.SNAPPY)
    inner = build_message_set(TEN[0][:3]) + nested + build_message_set(TEN[0][6:])
    decoded = decode(wrap_message_set(inner, offset=19, codec=Codec.GZIP), fetch_offset=11)
    assert decoded.records == TEN[0][1:]


def test_nested_relative_offsets_add_up() -> None:
    """In magic 1 each level counts from its own start."""
    deepest = build_message_set(records(0, 1, 2, magic=1), magic=1)
    nested = wrap_message_set(deepest, offset=4, codec=Codec.GZIP, magic=1)
    inner = build_message_set(records(0, 1, magic=1), magic=1) + nested
    data = wrap_message_set(inner, offset=14, codec=Codec.GZIP, magic=1)
    assert [record.offset for record in decode(data).records] == [10, 11, 12, 13, 14]


def wrapped_times(times: int) -> bytes:
    """Return a record in this many wrappers."""
    data = build_message_set(records(0))
    for _ in range(times):
        data = wrap_message_set(data, offset=0, codec=Codec.GZIP)
    return data


def test_nesting_is_limited() -> None:
    """The deepest allowed nesting is read, one more is an error."""
    assert decode(wrapped_times(MAX_DEPTH)).records == records(0)
    decoded = decode(wrapped_times(MAX_DEPTH + 1))
    assert decoded.error is not None
    assert "nested deeper than 4" in decoded.error.reason


@pytest.mark.parametrize("codec", [4, 5, 7])
def test_unknown_codecs_are_named(codec: int) -> None:
    """The error names the codec, and reading can continue after it."""
    decoded = decode(build_message_set(records(0)) + wrapper_around(3, b"?", codec=codec))
    assert decoded.records == records(0)
    assert isinstance(decoded.error, UnsupportedCodec)
    assert f"unknown codec {codec}" in decoded.error.reason
    assert (decoded.error.offset, decoded.error.next_offset) == (3, 4)


class TestRelativeOffsets:
    """In magic 1 the wrapper's offset is that of the last message inside."""

    def test_gaps_inside_are_kept(self) -> None:
        """Compaction inside a set leaves gaps in the relative offsets."""
        some = records(10, 13, 17, magic=1)
        assert decode(build_message_set(some, magic=1, codec=Codec.GZIP)).records == some

    def test_absolute_offsets_inside_are_read_too(self) -> None:
        """Then the last offset inside equals the wrapper's, and nothing is added."""
        data = wrap_message_set(
            build_message_set(TEN[1], magic=1), offset=19, codec=Codec.GZIP, magic=1
        )
        assert decode(data).records == TEN[1]

    def test_a_wrapper_at_offset_0_counts_from_0(self) -> None:
        """Some versions of librdkafka left the wrapper's offset at 0."""
        some = records(0, 1, 2, magic=1)
        data = wrap_message_set(
            build_message_set(some, magic=1), offset=0, codec=Codec.GZIP, magic=1
        )
        decoded = decode(data)
        assert decoded.records == some
        assert decoded.next_offset == 3

    def test_the_smallest_messages_inside_are_read(self) -> None:
        """Messages of magic 0 without key and value are as small as an entry can be."""
        inner = build_message_set([Record(at, None, None) for at in range(3)])
        decoded = decode(wrap_message_set(inner, offset=12, codec=Codec.GZIP, magic=1))
        assert decoded.error is None
        assert [(record.offset, record.value) for record in decoded.records] == [
            (10, None),
            (11, None),
            (12, None),
        ]

    @pytest.mark.parametrize("offsets", [(0, 1, 30), (0, 2, 1)])
    def test_contradictory_offsets_are_corrupt(self, offsets: tuple[int, ...]) -> None:
        """A last offset beyond the wrapper's, or offsets that go back, are invalid."""
        inner = build_message_set(records(*offsets, magic=1), magic=1)
        decoded = decode(wrap_message_set(inner, offset=20, codec=Codec.GZIP, magic=1))
        assert decoded.records == []
        assert decoded.error is not None
        assert (decoded.error.offset, decoded.error.next_offset) == (20, 21)


class TestTimestamps:
    """Magic 1 has the producer's time or the broker's."""

    def test_plain_messages_carry_either(self) -> None:
        """The attribute says which."""
        both = [
            Record(0, None, b"a", 111, TimestampType.CREATE_TIME),
            Record(1, None, b"b", 222, TimestampType.LOG_APPEND_TIME),
        ]
        assert decode(build_message_set(both, magic=1)).records == both

    def test_create_time_is_each_messages_own(self) -> None:
        """A wrapper with create time leaves the inner timestamps unchanged."""
        some = [Record(at, None, b"v", 100 + at, TimestampType.CREATE_TIME) for at in range(3)]
        assert decode(build_message_set(some, magic=1, codec=Codec.GZIP)).records == some

    def test_append_time_is_the_wrappers(self) -> None:
        """The broker sets only the wrapper's time, which counts for the messages inside."""
        inner = [Record(at, None, b"v", 100 + at, TimestampType.CREATE_TIME) for at in range(3)]
        data = wrap_message_set(
            build_message_set(inner, magic=1),
            offset=3,
            codec=Codec.SNAPPY,
            magic=1,
            timestamp=999,
            timestamp_type=TimestampType.LOG_APPEND_TIME,
        )
        before = build_message_set([Record(0, None, b"p", 5, TimestampType.CREATE_TIME)], magic=1)
        assert [
            (record.timestamp, record.timestamp_type) for record in decode(before + data).records
        ] == [(5, TimestampType.CREATE_TIME)] + [(999, TimestampType.LOG_APPEND_TIME)] * 3

    def test_magic_0_inside_keeps_no_timestamp(self) -> None:
        """A format without timestamps gets none from its wrapper."""
        data = wrap_message_set(
            build_message_set(records(0)),
            offset=2,
            codec=Codec.GZIP,
            magic=1,
            timestamp=999,
            timestamp_type=TimestampType.LOG_APPEND_TIME,
        )
        assert [(r.timestamp, r.timestamp_type) for r in decode(data).records] == [
            (-1, TimestampType.NONE)
        ]


class TestDamage:
    """Errors inside a compressed set have their offset in the log."""

    def test_a_wrong_crc_inside_keeps_what_came_before(self) -> None:
        """The wrapper's CRC can be right and an inner one wrong: some producers wrote such sets."""
        inner = bytearray(build_message_set(TEN[0]))
        at = len(build_message_set(TEN[0][:5]))
        inner[at + 20] ^= 1
        before = build_message_set(records(8))
        data = before + wrapper_around(19, gzip_of(bytes(inner)))
        decoded = decode(data, fetch_offset=8)
        assert decoded.records == records(8) + TEN[0][:5]
        assert decoded.next_offset == 15
        error = decoded.error
        assert error is not None
        assert (error.offset, error.position, error.next_offset) == (15, len(before), 16)
        assert "in the compressed set up to offset 19: CRC" in str(error)

        after = decode(data, fetch_offset=16)
        assert after.error is None
        assert after.records == TEN[0][6:]

    def test_a_wrong_wrapper_crc_is_noticed(self) -> None:
        """The original checks only the inner CRCs."""
        data = bytearray(build_message_set(TEN[0], codec=Codec.GZIP))
        data[13] ^= 1
        decoded = decode(bytes(data), fetch_offset=10)
        assert (list(decoded.records), decoded.next_offset) == ([], 10)
        assert decoded.error is not None
        assert (decoded.error.offset, decoded.error.next_offset) == (19, 20)

    def test_data_that_is_not_of_the_codec_is_an_error(self) -> None:
        """The error is about the wrapper."""
        decoded = decode(wrapper_around(19, b"no gzip"))
        assert decoded.error is not None
        assert (decoded.error.offset, decoded.error.next_offset) == (19, 20)
        assert "7 bytes of gzip" in decoded.error.reason

    @pytest.mark.parametrize("magic", [0, 1])
    def test_a_truncated_inner_set_is_an_error(self, magic: int) -> None:
        """Only the outermost set may be truncated: inside, records would be lost silently."""
        inner = build_message_set(TEN[magic], magic=magic)[:-1]
        decoded = decode(wrapper_around(19, gzip_of(inner), magic=magic))
        assert decoded.error is not None
        assert (decoded.error.offset, decoded.error.next_offset) == (19, 20)

    def test_a_bad_size_inside_skips_the_whole_wrapper(self) -> None:
        """Where the next message inside begins is unknown."""
        inner = build_message_set(TEN[0][:2]) + bytes(40)
        decoded = decode(wrapper_around(19, gzip_of(inner)))
        assert decoded.records == TEN[0][:2]
        assert decoded.error is not None
        assert decoded.error.next_offset == 20


class TestLimit:
    """Decompression never exceeds the limit, over the whole set."""

    def test_a_gzip_bomb_is_an_error(self) -> None:
        """200 MiB of zeros in 200 KB are an error, without a large allocation."""
        data = build_message_set(records(0)) + wrapper_around(1, gzip_of_zeros(200))
        tracemalloc.start()
        try:
            decoded = decode(data, room=1 << 20)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 5 << 20
        assert decoded.records == records(0)
        assert decoded.error is not None
        assert "decompresses to more than 1048576 bytes" in decoded.error.reason
        assert (decoded.error.offset, decoded.error.next_offset) == (1, 2)

    def test_a_compressed_set_that_does_not_fit_any_more_waits(self) -> None:
        """A later wrapper waits for the next fetch, which has the whole limit again."""
        first = build_message_set(TEN[0], codec=Codec.GZIP)
        later = build_message_set(records(20, 21, 22), codec=Codec.GZIP)
        room = len(build_message_set(TEN[0]))
        decoded = decode(first + later, fetch_offset=10, room=room)
        assert decoded.error is None
        assert decoded.records == TEN[0]
        assert (decoded.next_offset, decoded.valid_bytes) == (20, len(first))
        assert decode(first + later, fetch_offset=20, room=room).records == records(20, 21, 22)

    def test_nested_sets_count_against_the_same_limit(self) -> None:
        """What is decompressed twice counts twice; half a wrapper is never returned."""
        nested = build_message_set(TEN[0][5:], codec=Codec.GZIP)
        inner = build_message_set(TEN[0][:5]) + nested
        data = wrap_message_set(inner, offset=19, codec=Codec.GZIP)
        room = len(inner) + len(build_message_set(TEN[0][5:]))
        assert decode(data, room=room).records == TEN[0]
        assert decode(data, room=room - 1).error is not None

        before = build_message_set(records(9), codec=Codec.GZIP)
        decoded = decode(before + data, fetch_offset=9, room=room)
        assert decoded.error is None
        assert (list(decoded.records), decoded.next_offset) == (records(9), 10)
