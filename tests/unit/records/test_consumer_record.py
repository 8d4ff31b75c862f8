"""The records of a poll: field names, laziness, equality, pickling."""

import copy
import gc
import json
import pickle
import weakref

import pytest

from tests.support.batches import NOW, ROOM
from tests.support.fetched_decoders import FetchedDecoder
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.records.engine import decode_fetched
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely

TP = TopicPartition("clicks", 3)
HEADERS = (("trace", b"\x00\x01"), ("trace", None), ("Spur \u00e4", b""))
engines = pytest.mark.parametrize("decode", [decode_purely, decode_fetched], ids=["pure", "engine"])


def batch() -> bytes:
    """Return a batch of two records, the first with headers."""
    first = Record(7, b"k", b'{"a": 1}', NOW, TimestampType.CREATE_TIME)
    second = Record(8, None, None, NOW + 5, TimestampType.CREATE_TIME)
    traits = BatchTraits(leader_epoch=4)
    return build_batch([first, second], headers={0: HEADERS}, traits=traits)


def records_of(
    decode: FetchedDecoder, data: bytes, origin: RecordOrigin | None = None
) -> list[ConsumerRecord]:
    """Return all records of a set."""
    fetched = decode(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    assert fetched.error is None
    return fetched.take(len(fetched)).records(origin or RecordOrigin(TP))


@engines
def test_records_are_equal_however_the_log_stores_them(decode: FetchedDecoder) -> None:
    """In format 1 the broker's time is in each message, or in the compressed wrapper only."""
    some = [Record(0, b"k", b"v", 9, TimestampType.LOG_APPEND_TIME)]
    sets = [build_message_set(some, magic=1, codec=codec) for codec in (Codec.NONE, Codec.GZIP)]
    (plain,), (wrapped,) = (records_of(decode, data) for data in sets)
    assert plain == wrapped
    assert hash(plain) == hash(wrapped)
    assert plain.timestamp_type is wrapped.timestamp_type is TimestampType.LOG_APPEND_TIME


@engines
def test_every_field_has_its_name(decode: FetchedDecoder) -> None:
    """The names are those of kafka-python."""
    first, second = records_of(decode, batch())
    assert isinstance(first, ConsumerRecord)
    assert (first.topic, first.partition, first.offset) == ("clicks", 3, 7)
    assert first.topic_partition == TP
    assert first.leader_epoch == 4
    assert (first.timestamp, first.timestamp_type) == (NOW, 0)
    assert first.timestamp_type is TimestampType.CREATE_TIME
    assert (first.key, first.value) == (b"k", b'{"a": 1}')
    assert (first.raw_key, first.raw_value) == (b"k", b'{"a": 1}')
    assert first.headers == list(HEADERS)
    assert first.checksum is None
    assert (first.serialized_key_size, first.serialized_value_size) == (1, 8)
    assert first.serialized_header_size == 2 * len("trace") + 2 + len("Spur ä".encode())
    assert (second.key, second.value, second.headers) == (None, None, [])
    assert (second.serialized_key_size, second.serialized_value_size) == (-1, -1)
    assert second.serialized_header_size == -1


@engines
def test_headers_are_the_callers_own(decode: FetchedDecoder) -> None:
    """Changing the list does not change the record."""
    first, _ = records_of(decode, batch())
    first.headers.clear()
    assert first.headers == list(HEADERS)


@engines
def test_deserializers_are_called_on_access(decode: FetchedDecoder) -> None:
    """An error is raised whenever the value is read."""
    calls = []

    def recording(data: bytes) -> str:
        calls.append(data)
        return data.decode()

    first, second = records_of(decode, batch(), RecordOrigin(TP, recording, json.loads))
    assert calls == []
    assert first.key == "k"
    assert first.value == {"a": 1}
    assert (second.key, second.value) == (None, None)
    assert calls == [b"k", None]  # decode() fails for None, which means "no value"
    assert (first.raw_key, first.raw_value) == (b"k", b'{"a": 1}')
    (bad, _) = records_of(decode, batch(), RecordOrigin(TP, json.loads, None))
    for _ in range(2):
        with pytest.raises(json.JSONDecodeError):
            _ = bad.key
    assert bad.value == b'{"a": 1}'


@engines
def test_null_is_passed_to_the_deserializer(decode: FetchedDecoder) -> None:
    """As in kafka-python; an error of another cause is raised."""
    _, second = records_of(decode, batch(), RecordOrigin(TP, lambda key: key or "none", list))
    assert (second.key, second.value) == ("none", None)
    assert pickle.loads(pickle.dumps(second)).key == "none"

    def fails(data: bytes | None) -> None:
        raise ValueError(data)

    with pytest.raises(ValueError, match="None"):
        _ = records_of(decode, batch(), RecordOrigin(TP, fails))[1].key


class WantsHeaders:
    """A deserializer that is recognized by its attribute."""

    takes_headers = True

    def __call__(self, headers: object, data: bytes | None) -> tuple[object, bytes | None]:
        """Return the arguments."""
        return headers, data


@engines
def test_a_deserializer_may_want_the_headers(decode: FetchedDecoder) -> None:
    """They are those of the same record."""
    first, second = records_of(decode, batch(), RecordOrigin(TP, WantsHeaders(), WantsHeaders()))
    assert first.key == (list(HEADERS), b"k")
    assert first.value == (list(HEADERS), b'{"a": 1}')
    assert second.value == ([], None)


@engines
def test_messages_have_no_epoch_and_no_headers(decode: FetchedDecoder) -> None:
    """Messages are records of older brokers or topics."""
    (record,) = records_of(decode, build_message_set([Record(1, b"k", b"v")]))
    assert (record.leader_epoch, record.timestamp, record.timestamp_type) == (-1, -1, -1)
    assert record.headers == []


@engines
def test_records_with_equal_fields_are_equal(decode: FetchedDecoder) -> None:
    """Deserializers and engines play no part in equality."""
    first, second = records_of(decode, batch())
    again = records_of(decode_purely, batch(), RecordOrigin(TP, None, json.loads))
    natively = records_of(decode_fetched, batch(), RecordOrigin(TP, None, json.loads))
    assert first == again[0] == natively[0] == first
    assert natively[0] == again[0]
    assert {first, again[0], natively[0]} == {first}
    assert first != second
    assert second != first
    assert first != (1, 2)
    assert records_of(decode, batch(), RecordOrigin(TopicPartition("clicks", 4)))[0] != first
    other_epoch = build_batch(
        [Record(8, None, None, NOW + 5, TimestampType.CREATE_TIME)],
        traits=BatchTraits(leader_epoch=5),
    )
    assert records_of(decode, other_epoch)[0] != second


@engines
def test_a_pickled_record_needs_no_deserializer(decode: FetchedDecoder) -> None:
    """Not even if it has one that can't be pickled."""
    origin = RecordOrigin(TP, lambda data: data.decode(), lambda data: [json.loads(data)])
    for record in records_of(decode, batch(), origin):
        again = pickle.loads(pickle.dumps(record))
        assert again == record
        assert (again.key, again.value) == (record.key, record.value)
        assert pickle.loads(pickle.dumps(again)) == record
        assert copy.deepcopy(record) == copy.copy(record) == record


@engines
def test_a_record_and_its_deserializers_owner_are_collected(decode: FetchedDecoder) -> None:
    """They form a cycle, which only the garbage collector can free."""

    class Reader:
        last: ConsumerRecord | None = None

        def text(self, data: bytes) -> str:
            return data.decode()

    reader = Reader()
    reader.last = records_of(decode, batch(), RecordOrigin(TP, None, reader.text))[0]
    reference = weakref.ref(reader)
    del reader
    gc.collect()
    assert reference() is None


@engines
def test_the_repr_has_all_fields_and_calls_no_deserializer(decode: FetchedDecoder) -> None:
    """Logging a record must not fail, whatever the deserializer does."""
    first, _ = records_of(decode, batch(), RecordOrigin(TP, None, int))
    text = repr(first)
    for part in ("topic='clicks'", "partition=3", "offset=7", "leader_epoch=4", "b'k'", "'trace'"):
        assert part in text
    assert text == repr(records_of(decode_purely, batch())[0])


@engines
def test_a_record_is_a_sequence_of_its_fields(decode: FetchedDecoder) -> None:
    """Like kafka-python's, a record can be read by index, which code that stores records does."""
    first, _ = records_of(decode, batch())
    fields = first._asdict()
    assert list(fields) == list(first._fields)
    assert list(fields.values()) == list(first)
    assert (fields["topic"], fields["offset"], fields["value"]) == ("clicks", 7, b'{"a": 1}')
    assert (len(first), first[3], first[-1]) == (13, 7, first.serialized_header_size)
    assert first[:3] == ("clicks", 3, 4)
    assert (first.index(7), first.count(7)) == (3, 1)
    assert first._replace(offset=9)._asdict() == fields | {"offset": 9}
    assert ConsumerRecord._make(first) == first


@engines
def test_a_record_can_not_be_changed(decode: FetchedDecoder) -> None:
    """A record is an immutable value."""
    first, _ = records_of(decode, batch())
    for name in ("offset", "key", "value", "headers", "topic", "anything"):
        with pytest.raises(AttributeError):
            setattr(first, name, 1)
