"""Damaged batches: what the error says, where reading could go on, and that it can."""

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

FRONT = build_batch(records(8, 9))
TEN = build_batch(records(*range(10, 20)))
BEHIND = build_batch(records(25))


def spoiled(batch: bytes, at: int = -1) -> bytes:
    """The same batch with another byte in one place."""
    damaged = bytearray(batch)
    damaged[at] ^= 0x55
    return bytes(damaged)


def error_in(data: bytes, fetch_offset: int = 8) -> CorruptRecord:
    """Decode what has to be refused."""
    error = decode(data, fetch_offset).error
    assert error is not None
    return error


def test_a_wrong_crc_is_told_with_its_place() -> None:
    """What came before is there, and reading goes on behind if one wishes."""
    bad = spoiled(TEN)
    decoded = decode(FRONT + bad + BEHIND, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert error.reason.startswith("CRC-32C is ")
    assert (error.offset, error.position, error.next_offset) == (10, len(FRONT), 25)
    assert error.raw == bad
    assert list(decoded.records) == records(8, 9)
    assert (decoded.next_offset, decoded.valid_bytes) == (10, len(FRONT))
    again = decode(FRONT + bad + BEHIND, fetch_offset=25)
    assert (list(again.records), again.error) == (records(25), None)


@pytest.mark.parametrize("at", range(21, len(TEN)))
def test_every_byte_that_the_crc_covers_counts(at: int) -> None:
    """From the attributes on none can change unseen."""
    assert "CRC-32C" in error_in(spoiled(TEN, at)).reason


def test_behind_the_last_batch_the_count_of_records_tells() -> None:
    """Without a batch behind it, the head is believed where two fields of it agree."""
    assert error_in(spoiled(TEN)).next_offset == 20
    compacted = build_batch(records(12), traits=BatchTraits(base_offset=10, last_offset=19))
    assert error_in(spoiled(compacted)).next_offset is None
    assert error_in(spoiled(TEN, 23)).next_offset is None


def test_a_batch_behind_that_begins_no_further_tells_nothing() -> None:
    """Offsets never go back; so the count of records is asked."""
    for following in (10, 3):
        assert error_in(spoiled(TEN) + build_batch(records(following))).next_offset == 20


@pytest.mark.parametrize("magic", [0, 1])
def test_in_front_of_a_message_an_offset_is_lost(magic: int) -> None:
    """A set that goes on with messages: the damaged entry was most likely one."""
    behind = build_message_set(messages(30, magic=magic), magic=magic)
    assert error_in(spoiled(TEN, 16) + behind).next_offset == 11
    again = decode(spoiled(TEN, 16) + behind, fetch_offset=11)
    assert list(again.records) == messages(30, magic=magic)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_unknown_magics_are_refused(magic: int) -> None:
    """There is no format of that number; the next batch tells where to go on."""
    data = TEN[:16] + bytes((magic,)) + TEN[17:] + BEHIND
    error = error_in(data)
    assert "is not supported" in error.reason
    assert error.next_offset == 25
    assert list(decode(data, fetch_offset=25).records) == records(25)


def test_a_batch_too_small_for_its_head_is_refused() -> None:
    """It is an entry, but no batch."""
    data = struct.pack(">qiiB", 10, 48, 0, 2) + bytes(43)
    assert error_in(data + BEHIND).reason == "batch size 48 is less than 49"
    assert error_in(data + BEHIND).next_offset == 25
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
def test_a_head_that_makes_no_sense_is_refused(changes: dict[str, int], reason: str) -> None:
    """With a CRC that agrees, too: a producer can be wrong."""
    assert reason in error_in(with_head(TEN, **changes)).reason


def a_record(delta: int, body: bytes, *, size: int | None = None) -> bytes:
    """Build a record around what is behind its offset."""
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
@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_record_can_be_passed_over_alone(what: str, codec: Codec) -> None:
    """Its size is sound, so those behind it can be read; those before it are there already."""
    body = a_record(0, SOUND) + a_record(1, DAMAGED[what]) + a_record(2, SOUND)
    batch = build_batch(records(10, 11, 12))
    data = with_body(batch, body)
    if codec is Codec.GZIP:
        packed = with_body(batch, compress(codec, body, magic=2))
        data = with_head(packed, attributes=codec)
    decoded = decode(FRONT + data, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert error.reason.startswith("in the batch from offset 10: record is damaged inside: ")
    assert (error.offset, error.next_offset, error.position) == (11, 12, len(FRONT))
    assert [record.offset for record in decoded.records] == [8, 9, 10]
    assert decoded.next_offset == 11
    again = decode(FRONT + data, fetch_offset=12)
    assert ([record.offset for record in again.records], again.error) == ([12], None)


@pytest.mark.parametrize(
    "record",
    [
        a_record(1, SOUND, size=90),
        a_record(1, SOUND, size=-1),
        a_record(1, SOUND, size=1),
        a_record(0, SOUND),
        a_record(-1, SOUND),
        a_record(3, SOUND),
        b"\x80",
        b"",
    ],
)
def test_where_sizes_or_offsets_are_wrong_the_rest_is_lost(record: bytes) -> None:
    """Reading goes on behind the batch; the records before are there."""
    data = with_body(build_batch(records(10, 11, 12)), a_record(0, SOUND) + record)
    decoded = decode(FRONT + data + BEHIND, fetch_offset=8)
    error = decoded.error
    assert error is not None
    assert (error.offset, error.next_offset, error.position) == (10, 13, len(FRONT))
    assert [record.offset for record in decoded.records] == [8, 9, 10]
    assert decoded.next_offset == 11
    again = decode(FRONT + data + BEHIND, fetch_offset=13)
    assert (list(again.records), again.error) == (records(25), None)


def test_a_record_may_not_reach_into_the_next_batch() -> None:
    """Its size is held against its own batch, not against the bytes that happen to be there."""
    data = with_body(build_batch(records(10)), a_record(0, SOUND, size=60))
    assert "size or offset" in error_in(data + BEHIND).reason


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_data_of_no_codec_is_refused(codec: Codec) -> None:
    """The CRC is right, what it covers is not."""
    error = error_in(with_head(TEN, attributes=codec))
    assert f"of {codec.name.lower()}" in error.reason
    assert (error.offset, error.next_offset) == (10, 20)


MARKER = build_marker(Marker.ABORT, 10, timestamp=0, traits=of_producer(7))


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        (with_body(MARKER, a_record(0, SOUND)), "control record without a type"),
        (
            with_body(MARKER, a_record(0, varint(4) + b"\xff\xff\0\0" + varint(-1) + varint(0))),
            "control record of version -1",
        ),
        (with_head(MARKER, attributes=0x31), "compressed control batch"),
        (with_body(MARKER, b""), "no record begins at"),
    ],
)
def test_a_marker_that_says_nothing_is_refused(marker: bytes, reason: str) -> None:
    """Where it decides what is read; elsewhere it is passed over unread."""
    error = decode(marker, fetch_offset=10, aborted=[]).error
    assert error is not None
    assert reason in error.reason
    assert (error.offset, error.next_offset) == (10, 11)
    for decoded in (decode(marker, fetch_offset=10), decode(marker, 11, aborted=[])):
        assert (decoded.error, decoded.next_offset) == (None, 11)


def test_cut_inside_of_a_head_is_no_error() -> None:
    """A batch is judged when all of it is there."""
    for size in range(BATCH_HEADER.size):
        assert decode(FRONT + spoiled(TEN)[:size], fetch_offset=8).error is None


def test_damage_inside_of_a_batch_comes_with_the_batch() -> None:
    """The bytes as they were, for whoever keeps what can't be read."""
    bad = with_body(TEN, b"\xff" * 20)
    error = error_in(FRONT + bad + BEHIND)
    assert (error.position, error.raw) == (len(FRONT), bad)
    assert error.next_offset == 20
