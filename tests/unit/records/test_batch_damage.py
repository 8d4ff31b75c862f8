"""Corrupt batches: the error, where reading can continue, and that it does."""

import struct

import pytest

from tests.support.batches import decode, of_producer, records, with_body, with_head
from tests.support.engines import each_engine
from tests.support.markers import build_marker
from tests.support.record_sets import records as messages
from zkconsumer.errors import CorruptRecord
from zkconsumer.records.batch_header import BATCH_HEADER
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec, compress
from zkconsumer.records.transactions import Marker
from zkconsumer.records.varint import varint

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

BEFORE = build_batch(records(8, 9))
TEN_RECORDS = build_batch(records(*range(10, 20)))
AFTER = build_batch(records(25))


def corrupted(batch: bytes, at: int = -1) -> bytes:
    """Return the batch with one byte changed."""
    damaged = bytearray(batch)
    damaged[at] ^= 0x55
    return bytes(damaged)


def error_in(data: bytes, fetch_offset: int = 8) -> CorruptRecord:
    """Return the error of decoding corrupt data."""
    error = decode(data, fetch_offset).error
    assert error is not None
    return error


def test_the_error_of_a_wrong_crc_has_its_position() -> None:
    """Earlier records are returned, and reading can continue after the batch."""
    bad = corrupted(TEN_RECORDS)
    decoded = decode(BEFORE + bad + AFTER, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert error.reason.startswith("CRC-32C is ")
    assert (error.offset, error.position, error.next_offset) == (10, len(BEFORE), 25)
    assert error.raw == bad
    assert list(decoded.records) == records(8, 9)
    assert (decoded.next_offset, decoded.valid_bytes) == (10, len(BEFORE))
    again = decode(BEFORE + bad + AFTER, fetch_offset=25)
    assert (list(again.records), again.error) == (records(25), None)


@pytest.mark.parametrize("at", range(21, len(TEN_RECORDS)))
def test_every_byte_is_covered_by_the_crc(at: int) -> None:
    """No change from the attributes on goes unnoticed."""
    assert "CRC-32C" in error_in(corrupted(TEN_RECORDS, at)).reason


def test_after_the_last_batch_the_record_count_gives_the_next_offset() -> None:
    """Without a following batch, the header is trusted if two of its fields agree."""
    assert error_in(corrupted(TEN_RECORDS)).next_offset == 20
    compacted = build_batch(records(12), traits=BatchTraits(base_offset=10, last_offset=19))
    assert error_in(corrupted(compacted)).next_offset is None
    assert error_in(corrupted(TEN_RECORDS, 23)).next_offset is None


def test_a_following_batch_with_a_lower_offset_is_ignored() -> None:
    """Offsets never go back, so the record count is used."""
    for following in (10, 3):
        assert error_in(corrupted(TEN_RECORDS) + build_batch(records(following))).next_offset == 20


@pytest.mark.parametrize("magic", [0, 1])
def test_before_a_message_one_offset_is_skipped(magic: int) -> None:
    """If messages follow, the corrupt entry was most likely a message."""
    following = build_message_set(messages(30, magic=magic), magic=magic)
    assert error_in(corrupted(TEN_RECORDS, 16) + following).next_offset == 11
    again = decode(corrupted(TEN_RECORDS, 16) + following, fetch_offset=11)
    assert list(again.records) == messages(30, magic=magic)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_unknown_magics_are_refused(magic: int) -> None:
    """There is no such format; the offset of the next batch tells where to continue."""
    data = TEN_RECORDS[:16] + bytes((magic,)) + TEN_RECORDS[17:] + AFTER
    error = error_in(data)
    assert "is not supported" in error.reason
    assert error.next_offset == 25
    assert list(decode(data, fetch_offset=25).records) == records(25)


def test_a_batch_too_small_for_its_header_is_refused() -> None:
    """It is an entry, but no batch."""
    data = struct.pack(">qiiB", 10, 48, 0, 2) + bytes(43)
    assert error_in(data + AFTER).reason == "batch size 48 is less than 49"
    assert error_in(data + AFTER).next_offset == 25
    assert error_in(data).next_offset is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"last_offset_delta": -1}, "last offset delta -1 is invalid"),
        ({"record_count": -1}, "record count -1 is negative"),
        ({"base_offset": 2**63 - 5}, "last offset delta 9 is invalid"),
        ({"last_offset_delta": 8}, "size or offset at byte"),
        ({"record_count": 11}, "no record begins at"),
        ({"record_count": 9}, "bytes are left after the last record"),
        ({"base_timestamp": 2**63 - 1}, "timestamp 9223372036854775808 is invalid"),
    ],
)
def test_an_inconsistent_header_is_refused(changes: dict[str, int], reason: str) -> None:
    """This holds even if the CRC matches, as a producer can be wrong."""
    assert reason in error_in(with_head(TEN_RECORDS, **changes)).reason


def record_of(delta: int, body: bytes, *, size: int | None = None) -> bytes:
    """Return a record with the given bytes after its offset delta."""
    rest = b"\0" + varint(0) + varint(delta) + body
    return varint(len(rest) if size is None else size) + rest


SOUND = varint(-1) + varint(1) + b"v" + varint(0)

DAMAGED = {
    "key below -1": varint(-2) + varint(-1) + varint(0),
    "value below -1": varint(-1) + varint(-2) + varint(0),
    "key too long": varint(90) + b"k" + varint(-1) + varint(0),
    "value too long": varint(-1) + varint(90) + b"v" + varint(0),
    "bytes left": SOUND + b"?",
    "no header count": varint(-1) + varint(1) + b"v",
    "negative header count": varint(-1) + varint(-1) + varint(-1),
    "too many headers": varint(-1) + varint(-1) + varint(2**31 - 1) + b"\0\0",
    "name is null": varint(-1) + varint(-1) + varint(1) + varint(-1) + varint(-1) + b"\0",
    "name too long": varint(-1) + varint(-1) + varint(1) + varint(9) + varint(-1),
    "header value below -1": varint(-1) + varint(-1) + varint(1) + varint(0) + varint(-2),
    "header value too long": varint(-1) + varint(-1) + varint(1) + varint(0) + varint(5),
    "bytes behind the headers": varint(-1) + varint(-1) + varint(1) + b"\0\0\0",
    "endless number": b"\xff" * 6,
}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_corrupt_record_can_be_skipped_alone(damage: str, codec: Codec) -> None:
    """Its size is valid, so later records can be read; earlier ones were returned already."""
    body = record_of(0, SOUND) + record_of(1, DAMAGED[damage]) + record_of(2, SOUND)
    batch = build_batch(records(10, 11, 12))
    data = with_body(batch, body)
    if codec is Codec.GZIP:
        packed = with_body(batch, compress(codec, body, magic=2))
        data = with_head(packed, attributes=codec)
    decoded = decode(BEFORE + data, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert error.reason.startswith("in the batch from offset 10: record is damaged inside: ")
    assert (error.offset, error.next_offset, error.position) == (11, 12, len(BEFORE))
    assert [record.offset for record in decoded.records] == [8, 9, 10]
    assert decoded.next_offset == 11
    again = decode(BEFORE + data, fetch_offset=12)
    assert ([record.offset for record in again.records], again.error) == ([12], None)


@pytest.mark.parametrize(
    "record",
    [
        record_of(1, SOUND, size=90),
        record_of(1, SOUND, size=-1),
        record_of(1, SOUND, size=1),
        record_of(0, SOUND),
        record_of(-1, SOUND),
        record_of(3, SOUND),
        b"\x80",
        b"",
    ],
)
def test_after_a_wrong_size_or_offset_the_rest_of_the_batch_is_skipped(record: bytes) -> None:
    """Reading continues after the batch; earlier records are returned."""
    data = with_body(build_batch(records(10, 11, 12)), record_of(0, SOUND) + record)
    decoded = decode(BEFORE + data + AFTER, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert (error.offset, error.next_offset, error.position) == (10, 13, len(BEFORE))
    assert [record.offset for record in decoded.records] == [8, 9, 10]
    assert decoded.next_offset == 11
    again = decode(BEFORE + data + AFTER, fetch_offset=13)
    assert (list(again.records), again.error) == (records(25), None)


def test_a_record_must_not_reach_into_the_next_batch() -> None:
    """Its size is compared with its own batch, and not with all bytes of the set."""
    data = with_body(build_batch(records(10)), record_of(0, SOUND, size=60))
    assert "size or offset" in error_in(data + AFTER).reason


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_data_that_the_codec_can_not_read_is_refused(codec: Codec) -> None:
    """The CRC matches, but the content is invalid."""
    error = error_in(with_head(TEN_RECORDS, attributes=codec))
    assert f"of {codec.name.lower()}" in error.reason
    assert (error.offset, error.next_offset) == (10, 20)


MARKER = build_marker(Marker.ABORT, 10, timestamp=0, traits=of_producer(7))


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        (with_body(MARKER, record_of(0, SOUND)), "control record without a type"),
        (
            with_body(MARKER, record_of(0, varint(4) + b"\xff\xff\0\0" + varint(-1) + varint(0))),
            "control record of version -1",
        ),
        (with_head(MARKER, attributes=0x31), "compressed control batch"),
        (with_body(MARKER, b""), "no record begins at"),
    ],
)
def test_an_invalid_marker_is_refused(marker: bytes, reason: str) -> None:
    """It is an error where the marker matters; elsewhere the marker is skipped unread."""
    error = decode(marker, fetch_offset=10, aborted=[]).error
    assert error is not None
    assert reason in error.reason
    assert (error.offset, error.next_offset) == (10, 11)
    for decoded in (decode(marker, fetch_offset=10), decode(marker, 11, aborted=[])):
        assert (decoded.error, decoded.next_offset) == (None, 11)


def test_a_truncated_header_is_no_error() -> None:
    """A batch is checked once it is complete."""
    for size in range(BATCH_HEADER.size):
        assert decode(BEFORE + corrupted(TEN_RECORDS)[:size], fetch_offset=8).error is None


def test_the_error_of_a_corrupt_batch_has_its_bytes() -> None:
    """The raw bytes are kept for dead letters."""
    bad = with_body(TEN_RECORDS, b"\xff" * 20)
    error = error_in(BEFORE + bad + AFTER)
    assert (error.position, error.raw) == (len(BEFORE), bad)
    assert error.next_offset == 20
