"""Records of polls as tuples, compared with a named tuple of the same fields, for both engines."""

import pickle
from collections import namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fetched_decoders import FetchedDecoder
from zkconsumer import ConsumerRecord
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely

TP = TopicPartition("clicks", 3)
KafkaPythons = namedtuple(
    "KafkaPythons",
    "topic partition leader_epoch offset timestamp timestamp_type key value headers checksum "
    "serialized_key_size serialized_value_size serialized_header_size",
)
engines = pytest.mark.parametrize("decode", [decode_purely, decode_fetched], ids=["pure", "engine"])
blobs = st.none() | st.binary(max_size=9)
numbers = st.integers(-15, 15)


def pair(
    decode: FetchedDecoder,
    key: bytes | None,
    value: bytes | None,
    *,
    headers: bool,
    hex_value: bool,
) -> tuple[ConsumerRecord, Any]:
    """Return a record as it is read, and the tuple that it must equal."""
    record = Record(7, key, value, 1_700_000_000_000, TimestampType.CREATE_TIME)
    beside = {0: (("h", b"1"),)} if headers else {}
    data = build_batch([record], headers=beside, traits=BatchTraits(leader_epoch=4))
    origin = RecordOrigin(TP, None, bytes.hex if hex_value else None)
    [made] = decode(data, fetch_offset=0, max_decompressed_bytes=1 << 20).take(1).records(origin)
    sizes = [-1 if blob is None else len(blob) for blob in (key, value)]
    meant = value.hex() if hex_value and value is not None else value
    like = KafkaPythons(
        *("clicks", 3, 4, 7, 1_700_000_000_000, 0, key, meant),
        *([("h", b"1")] if headers else [], None, *sizes, 2 if headers else -1),
    )
    return made, like


@engines
@given(
    key=blobs,
    value=blobs,
    headers=st.booleans(),
    hex_value=st.booleans(),
    at=numbers,
    other=numbers,
    step=st.sampled_from([1, 2, -1]),
)
def test_a_record_is_a_tuple_by_index(  # noqa: PLR0917
    decode: FetchedDecoder,
    key: bytes | None,
    value: bytes | None,
    headers: bool,
    hex_value: bool,
    at: int,
    other: int,
    step: int,
) -> None:
    """Index, slice, length, iteration, names and comparisons are those of the tuple."""
    record, like = pair(decode, key, value, headers=headers, hex_value=hex_value)
    if -len(like) <= at < len(like):
        assert record[at] == like[at]
    else:
        with pytest.raises(IndexError):
            _ = record[at]
    assert record[at:other:step] == like[at:other:step]
    assert (len(record), bool(record)) == (13, True)
    assert tuple(record) == tuple(like)
    assert record == like
    assert like == record
    assert record != like._replace(offset=8)
    assert record != tuple(like)[:-1]
    assert (record._fields, record._asdict()) == (like._fields, like._asdict())
    topic, partition, *_, size = record
    assert (topic, partition, size) == (like[0], like[1], like[12])
    assert record.index(7) == like.index(7)
    assert record.count(3) == like.count(3)
    assert 7 in record


@engines
@given(key=blobs, value=blobs, hex_value=st.booleans())
def test_replacing_a_field_keeps_the_others(
    decode: FetchedDecoder,
    key: bytes | None,
    value: bytes | None,
    hex_value: bool,
) -> None:
    """The result is a record, too, and can be pickled."""
    record, like = pair(decode, key, value, headers=True, hex_value=hex_value)
    other: Any = record._replace(value="new", offset=9)
    assert isinstance(other, ConsumerRecord)
    assert other == like._replace(value="new", offset=9)
    assert (other.topic_partition, other.raw_key, other.raw_value) == (TP, key, None)
    assert pickle.loads(pickle.dumps(other)) == other
    assert ConsumerRecord(**record._asdict()) == ConsumerRecord._make(record) == record
    with pytest.raises((TypeError, ValueError)):
        record._replace(colour="red")


@engines
def test_fields_are_deserialised_only_when_they_are_read(decode: FetchedDecoder) -> None:
    """This holds for access by index as well as by name."""
    data = build_batch([Record(7, b"k", b"v", 1, TimestampType.CREATE_TIME)])

    def fails(_data: bytes) -> None:
        raise ValueError("deserialised")

    origin = RecordOrigin(TP, fails, fails)
    [record] = decode(data, fetch_offset=0, max_decompressed_bytes=1 << 20).take(1).records(origin)
    assert (record[0], record[3], record[:4]) == ("clicks", 7, ("clicks", 3, -1, 7))
    with pytest.raises(ValueError, match="deserialised"):
        _ = record[6]


def test_a_record_can_be_constructed_from_its_fields() -> None:
    """Tests of programs for kafka-python do so."""
    made: Any = ConsumerRecord("t", 0, -1, 5, 1, 0, b"k", {"a": 1}, [], None, 1, 8, -1)
    assert isinstance(made, ConsumerRecord)
    assert (made.topic, made.offset, made.value, made.raw_value) == ("t", 5, {"a": 1}, None)
    assert repr(made).startswith("ConsumerRecord(topic='t', partition=0, ")
    with pytest.raises(TypeError):
        ConsumerRecord("t", 0)
