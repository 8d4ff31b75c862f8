"""Each version of Produce has its record format, and no part of a record is lost silently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.batches import decode
from tests.support.written_records import HEADERS, LONG_AGO_MS, StoredFields, outgoing
from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Record, TimestampType
from zkconsumer.produce.outgoing import (
    HeadedRecord,
    Outgoing,
    build_set,
    least_version,
    outgoing_bytes,
    parts_of,
)
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.rows import Headers
from zkconsumer.wire.messages.produce import PRODUCE

NOW_MS = 1_700_000_000_000
ROOM = 1 << 24
VERSIONS = range(PRODUCE.last + 1)

HEADER_LISTS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), st.none() | st.binary(max_size=9)),
    max_size=3,
).map(tuple)
RECORDS = st.builds(
    Record,
    offset=st.integers(-1, 1 << 40),
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=60),
    timestamp=st.just(-1) | st.integers(0, 1 << 45),
    timestamp_type=st.sampled_from(TimestampType),
)


def magic_of(data: bytes) -> int:
    """Return the magic of a record set."""
    return data[16]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_has_its_record_format(version: int) -> None:
    """Magic 0 comes first, then magic 1, then batches."""
    data = build_set([Record(0, None, b"v")], version=version, codec=Codec.NONE, now_ms=NOW_MS)
    assert magic_of(data) == {0: 0, 1: 0, 2: 1}.get(version, 2)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("version", [0, 1, 2])
@given(records=st.lists(RECORDS, min_size=1, max_size=6))
def test_messages_round_trip(version: int, codec: Codec, records: list[Record]) -> None:
    """Key and value are unchanged; the time of magic 1 is the sender's, or that of building."""
    data = build_set(records, version=version, codec=codec, now_ms=NOW_MS)
    found = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=ROOM).records
    assert [(record.key, record.value) for record in found] == [
        (record.key, record.value) for record in records
    ]
    wanted = [NOW_MS if record.timestamp == -1 else record.timestamp for record in records]
    has_time = version == 2
    assert [record.timestamp for record in found] == (wanted if has_time else [-1] * len(records))
    kind = TimestampType.CREATE_TIME if has_time else TimestampType.NONE
    assert {record.timestamp_type for record in found} == {kind}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@given(records=st.lists(st.tuples(RECORDS, HEADER_LISTS), min_size=1, max_size=6))
def test_batches_round_trip(codec: Codec, records: list[tuple[Record, Headers]]) -> None:
    """Headers keep their order, and offsets count from 0."""
    sent: list[Outgoing] = [HeadedRecord(*entry) if entry[1] else entry[0] for entry in records]
    found = decode(build_set(sent, version=3, codec=codec, now_ms=NOW_MS))
    for index, (written, (record, headers)) in enumerate(zip(found.records, records, strict=True)):
        stamp = NOW_MS if record.timestamp == -1 else record.timestamp
        assert written == Record(index, record.key, record.value, stamp, TimestampType.CREATE_TIME)
        assert found.headers.get(index, ()) == headers


@pytest.mark.parametrize("version", [0, 1, 2])
def test_headers_are_never_dropped(version: int) -> None:
    """If the format has no headers, the set is not built."""
    records: list[Outgoing] = [
        Record(0, None, b"v"),
        HeadedRecord(Record(0, None, b"v"), HEADERS),
        HeadedRecord(Record(0, None, b"v"), ()),
    ]
    with pytest.raises(LocalProtocolError, match="record 1 of the set has headers"):
        build_set(records, version=version, codec=Codec.NONE, now_ms=NOW_MS)
    build_set(records[2:], version=version, codec=Codec.NONE, now_ms=NOW_MS)


@pytest.mark.parametrize("codec", Codec)
def test_the_least_version_of_each_codec_is_known(codec: Codec) -> None:
    """Only zstd needs a newer broker."""
    assert least_version(codec) == (7 if codec is Codec.ZSTD else 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_sizes_are_never_estimated_too_small(version: int) -> None:
    """The estimate is never smaller than the record's bytes, except for the head of a batch."""
    for sent in outgoing(StoredFields.HEADERS if version >= 3 else StoredFields.NOTHING):
        data = build_set([sent], version=version, codec=Codec.NONE, now_ms=LONG_AGO_MS)
        head = {0: 0, 1: 0, 2: 8}.get(version, 61)
        assert len(data) <= outgoing_bytes(sent) + head
        record, headers = parts_of(sent)
        assert outgoing_bytes(sent) >= len(record.value or b"") + sum(
            len(value or b"") for _, value in headers
        )
