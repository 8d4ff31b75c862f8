"""Batches of magic 2: offsets, timestamps, headers, epochs, control batches, limits, mixed sets."""

import sys

import pytest

from tests.support.batches import NOW, decode, of_producer, records, with_head
from tests.support.engines import each_engine
from tests.support.markers import build_marker
from tests.support.record_sets import gzip_of_zeros
from tests.support.record_sets import records as messages
from zkconsumer.errors import UnsupportedCodec
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.batch_header import BATCH_HEADER
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch, with_crc
from zkconsumer.records.codecs import Codec
from zkconsumer.records.memory import headers_bytes, records_bytes
from zkconsumer.records.transactions import Marker

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

TEN = records(*range(10, 20))


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_has_its_records(codec: Codec) -> None:
    """Offsets and timestamps are those of the log, whatever the codec."""
    data = build_batch(TEN, codec=codec)
    decoded = decode(data, fetch_offset=10)
    assert decoded.error is None
    assert list(decoded.records) == TEN
    assert (decoded.next_offset, decoded.valid_bytes) == (20, len(data))
    assert decoded.memory_bytes == records_bytes(decoded.records)
    assert decoded.headers == {}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_reading_resumes_in_the_middle(codec: Codec) -> None:
    """A batch is returned whole by the broker; records below the fetch offset are dropped."""
    decoded = decode(build_batch(TEN, codec=codec), fetch_offset=15)
    assert list(decoded.records) == TEN[5:]
    assert decoded.next_offset == 20


def test_a_batch_below_the_fetch_offset_is_skipped() -> None:
    """It is not decompressed, and does not change the position."""
    data = build_batch(TEN, codec=Codec.GZIP) + build_batch(records(20))
    decoded = decode(data, fetch_offset=20, room=0)
    assert decoded.error is None
    assert list(decoded.records) == records(20)
    assert decode(build_batch(TEN), fetch_offset=30).next_offset == 30


def test_compaction_keeps_the_last_offset() -> None:
    """The next offset follows the last offset of the batch, and not its last record."""
    traits = BatchTraits(base_offset=10, last_offset=29)
    decoded = decode(build_batch(records(12, 17), traits=traits), fetch_offset=10)
    assert list(decoded.records) == records(12, 17)
    assert decoded.next_offset == 30


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_an_empty_batch_only_advances(codec: Codec) -> None:
    """All its records may have been compacted away."""
    traits = BatchTraits(base_offset=10, last_offset=29, producer_id=7, leader_epoch=4)
    data = build_batch([], codec=codec, traits=traits)
    decoded = decode(data + build_batch(records(30)), fetch_offset=12, room=0)
    assert decoded.error is None
    assert list(decoded.records) == records(30)
    assert decode(data, fetch_offset=12).next_offset == 30


def test_append_time_is_that_of_the_batch() -> None:
    """With bit 3 set all records have the batch's largest timestamp, whatever their deltas are."""
    data = with_head(build_batch(TEN), attributes=0x08, max_timestamp=NOW + 500)
    found = decode(data, fetch_offset=18).records
    assert [record.timestamp for record in found] == [NOW + 500] * 2
    assert {record.timestamp_type for record in found} == {TimestampType.LOG_APPEND_TIME}


def test_timestamps_may_go_back_or_be_none() -> None:
    """Deltas are signed and relative to the first record; -1 means none."""
    kind = TimestampType.CREATE_TIME
    for stamps in ([NOW, NOW - 5000, 0], [-1, -1, -1], [2**62, -(2**62), 5]):
        some = [Record(at, None, b"", stamp, kind) for at, stamp in enumerate(stamps)]
        assert list(decode(build_batch(some)).records) == some


def test_a_delete_horizon_changes_no_timestamp() -> None:
    """It replaces the base timestamp, and deltas count from it."""
    data = build_batch(TEN, traits=BatchTraits(delete_horizon_ms=NOW + 86_400_000))
    assert list(decode(data, fetch_offset=10).records) == TEN


def test_nulls_and_empty_content_differ() -> None:
    """A null key or value is None, one without bytes is empty."""
    kind = TimestampType.CREATE_TIME
    pairs = [(None, None), (b"", b""), (None, b""), (b"k", None)]
    some = [Record(at, key, value, NOW, kind) for at, (key, value) in enumerate(pairs)]
    assert list(decode(build_batch(some)).records) == some


def test_headers_are_stored_beside_the_records() -> None:
    """They are by record index, in order, with repeated names, and only of returned records."""
    trace = (("trace", b"1"), ("trace", None), ("größe", b""))
    data = build_batch(TEN, headers={2: (("a", b"b"),), 7: trace})
    data += build_batch(records(20), headers={0: (("c", None),)})
    decoded = decode(data, fetch_offset=15)
    assert decoded.headers == {2: trace, 5: (("c", None),)}
    counted = sum(headers_bytes(headers) for headers in decoded.headers.values())
    assert decoded.memory_bytes == records_bytes(decoded.records) + counted


def test_a_header_name_that_is_no_utf_8_is_read_as_in_java() -> None:
    """Invalid bytes become the replacement character."""
    batch = build_batch(records(0), headers={0: (("ab", b"x"),)})
    assert decode(with_crc(batch.replace(b"\x04ab", b"\x04a\xff"))).headers == {
        0: (("a\ufffd", b"x"),)
    }


def test_leader_epochs_are_those_of_the_batches() -> None:
    """Each record has its batch's epoch, and the position has that of the last batch."""
    data = b"".join(
        build_batch(records(at, at + 1), traits=BatchTraits(leader_epoch=epoch))
        for at, epoch in ((0, 3), (2, 3), (4, 5))
    )
    data += build_marker(Marker.COMMIT, 6, timestamp=NOW, traits=BatchTraits(leader_epoch=6))
    decoded = decode(data, fetch_offset=1)
    assert [decoded.leader_epoch(at) for at in range(5)] == [3, 3, 3, 5, 5]
    assert decoded.leader_epochs[:2] == ((0, 3), (3, 5))
    assert (decoded.last_leader_epoch, decoded.next_offset) == (6, 7)
    assert decode(b"").leader_epoch(0) == decode(b"").last_leader_epoch == -1


@pytest.mark.parametrize("marker", [Marker.ABORT, Marker.COMMIT])
def test_markers_are_never_records(marker: Marker) -> None:
    """Whatever the isolation level, the position moves past them."""
    data = build_marker(marker, 5, timestamp=NOW, traits=of_producer(7))
    for aborted in (None, ()):
        decoded = decode(data, fetch_offset=5, aborted=aborted)
        assert (list(decoded.records), decoded.next_offset, decoded.error) == ([], 6, None)


def test_a_mixed_set_is_read_in_order() -> None:
    """Messages of older brokers, plain or compressed, may come before and after batches."""
    data = (
        build_message_set(messages(0, 1))
        + build_message_set(messages(2, 3, magic=1), magic=1)
        + build_batch(records(4, 5), traits=BatchTraits(leader_epoch=2))
        + build_message_set(messages(6, 7, magic=1), magic=1, codec=Codec.GZIP)
        + build_batch(records(8))
    )
    every = [*messages(0, 1), *messages(2, 3, magic=1), *records(4, 5)]
    every += [*messages(6, 7, magic=1), *records(8)]
    for fetch_offset in range(10):
        decoded = decode(data, fetch_offset)
        assert decoded.error is None
        assert list(decoded.records) == every[fetch_offset:]
        assert decoded.next_offset == max(9, fetch_offset)
        assert decoded.valid_bytes == len(data)
    assert [decode(data).leader_epoch(at) for at in (3, 4, 5, 6, 8)] == [-1, 2, 2, -1, -1]


def test_a_truncated_batch_ends_the_set() -> None:
    """It is no error; if it is the first entry, its size is returned."""
    whole, truncated = build_batch(TEN), build_batch(records(20))
    for size in range(len(truncated)):
        decoded = decode(whole + truncated[:size], fetch_offset=10)
        assert (decoded.error, decoded.next_offset, decoded.valid_bytes) == (None, 20, len(whole))
        first = decode(truncated[:size], fetch_offset=20)
        assert (first.error, first.next_offset, first.valid_bytes) == (None, 20, 0)
        assert first.first_entry_size_bytes == (len(truncated) if size >= 12 else None)


def test_batches_share_the_limit() -> None:
    """If a later batch needs more than is left, the set ends before it."""
    first, second = (
        build_batch(TEN, codec=Codec.GZIP),
        build_batch(records(20, 21), codec=Codec.GZIP),
    )
    body_bytes = len(build_batch(TEN)) - BATCH_HEADER.size
    decoded = decode(first + second, fetch_offset=10, room=body_bytes)
    assert (decoded.error, decoded.next_offset, decoded.valid_bytes) == (None, 20, len(first))
    assert list(decoded.records) == TEN
    some_left = decode(first + second, fetch_offset=10, room=body_bytes + 1)
    assert (some_left.error, some_left.next_offset) == (None, 20)
    alone = decode(first, fetch_offset=10, room=body_bytes - 1)
    assert alone.error is not None
    assert "raise fetch.max.decompressed.bytes" in alone.error.reason
    assert (alone.error.offset, alone.error.next_offset, alone.next_offset) == (10, 20, 10)


def test_a_set_ends_when_enough_is_decompressed() -> None:
    """The next compressed batch waits; one that needs no decompression does not."""
    first, second = build_batch(TEN, codec=Codec.GZIP), build_batch(records(21), codec=Codec.GZIP)
    decoded = decode(first + build_batch(records(20)) + second, 10, enough_bytes=1)
    assert [record.offset for record in decoded.records] == [*range(10, 21)]
    assert (decoded.error, decoded.next_offset) == (None, 21)


def test_a_bomb_exceeds_the_limit() -> None:
    """A small batch that decompresses to much is an error."""
    batch = build_batch(TEN, codec=Codec.GZIP)
    bomb = gzip_of_zeros(8)
    data = with_head(batch[: BATCH_HEADER.size] + bomb, size=BATCH_HEADER.size - 12 + len(bomb))
    error = decode(data, fetch_offset=10).error
    assert error is not None
    assert "more than 1048576 bytes" in error.reason


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_named(codec: int) -> None:
    """There are eight numbers and five codecs."""
    error = decode(with_head(build_batch(TEN), attributes=codec), fetch_offset=10).error
    assert isinstance(error, UnsupportedCodec)
    assert error.reason == f"unknown codec {codec} in magic 2"
    assert (error.offset, error.next_offset) == (10, 20)


def test_the_memory_of_headers_is_estimated() -> None:
    """The estimate is not less than their objects, and not much more."""
    every = [("trace", b"x" * 100), ("", None), ("größe", b""), ("\U0001f980" * 9, b"y")]
    for count in range(1, 5):
        headers = tuple((f"{name}{count}", value) for name, value in every[:count])
        parts = [part for pair in headers for part in (pair, *pair) if part is not None]
        taken = sys.getsizeof(headers) + sum(map(sys.getsizeof, parts))
        assert taken <= headers_bytes(headers) <= taken + 200 * (count + 1)


def test_the_last_epoch_is_that_of_the_last_batch_read() -> None:
    """An unreadable message does not end the epoch of the batch before it."""
    front = build_batch(records(1, 2), traits=BatchTraits(leader_epoch=4))
    message = bytearray(build_message_set(messages(3)))
    assert decode(front + bytes(message)).last_leader_epoch == -1
    message[0] = 0x80  # a negative offset
    decoded = decode(front + bytes(message))
    assert decoded.error is not None
    assert (decoded.next_offset, decoded.last_leader_epoch) == (3, 4)
