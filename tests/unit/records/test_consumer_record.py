"""What a poll gives: names, laziness, equality, pickling."""

import copy
import gc
import json
import pickle
import weakref

import pytest

from tests.support.batches import NOW, ROOM
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin
from zkconsumer.records.fetched import decode_fetched
from zkconsumer.records.pure_fetched import decode_fetched as decode_purely
from zkconsumer.records.slices import FetchedDecoder

TP = TopicPartition("clicks", 3)
HEADERS = (("trace", b"\x00\x01"), ("trace", None), ("Spur \u00e4", b""))
engines = pytest.mark.parametrize("decode", [decode_purely, decode_fetched], ids=["pure", "engine"])


def batch() -> bytes:
    """Two records, the first with headers."""
    first = Record(7, b"k", b'{"a": 1}', NOW, TimestampType.CREATE_TIME)
    second = Record(8, None, None, NOW + 5, TimestampType.CREATE_TIME)
    traits = BatchTraits(leader_epoch=4)
    return build_batch([first, second], headers={0: HEADERS}, traits=traits)


def made(
    decode: FetchedDecoder, data: bytes, origin: RecordOrigin | None = None
) -> list[ConsumerRecord]:
    """All records of a set."""
    fetched = decode(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    assert fetched.error is None
    return fetched.take(len(fetched)).records(origin or RecordOrigin(TP))


@engines
def test_equal_records_are_equal_however_the_log_holds_them(decode: FetchedDecoder) -> None:
    """The broker's time stands in each message of format 1, or in the compressed one around it."""
    some = [Record(0, b"k", b"v", 9, TimestampType.LOG_APPEND_TIME)]
    sets = [build_message_set(some, magic=1, codec=codec) for codec in (Codec.NONE, Codec.GZIP)]
    (plain,), (wrapped,) = (made(decode, data) for data in sets)
    assert plain == wrapped
    assert hash(plain) == hash(wrapped)
    assert plain.timestamp_type is wrapped.timestamp_type is TimestampType.LOG_APPEND_TIME


@engines
def test_every_field_has_its_name(decode: FetchedDecoder) -> None:
    """As kafka-python's users know them."""
    first, second = made(decode, batch())
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
    """Who changes the list changes nothing of the record."""
    first, _ = made(decode, batch())
    first.headers.clear()
    assert first.headers == list(HEADERS)


@engines
def test_deserialisers_are_called_when_asked(decode: FetchedDecoder) -> None:
    """An error is raised where the value is asked for, each time."""
    calls = []

    def noting(data: bytes) -> str:
        calls.append(data)
        return data.decode()

    first, second = made(decode, batch(), RecordOrigin(TP, noting, json.loads))
    assert calls == []
    assert first.key == "k"
    assert first.value == {"a": 1}
    assert (second.key, second.value) == (None, None)
    assert calls == [b"k", None]  # it can't take that, as an AttributeError tells
    assert (first.raw_key, first.raw_value) == (b"k", b'{"a": 1}')
    (bad, _) = made(decode, batch(), RecordOrigin(TP, json.loads, None))
    for _ in range(2):
        with pytest.raises(json.JSONDecodeError):
            _ = bad.key
    assert bad.value == b'{"a": 1}'


@engines
def test_null_is_for_the_deserialiser_to_say(decode: FetchedDecoder) -> None:
    """As in kafka-python; an error that is not about null comes out."""
    _, second = made(decode, batch(), RecordOrigin(TP, lambda key: key or "none", list))
    assert (second.key, second.value) == ("none", None)
    assert pickle.loads(pickle.dumps(second)).key == "none"

    def fails(data: bytes | None) -> None:
        raise ValueError(data)

    with pytest.raises(ValueError, match="None"):
        _ = made(decode, batch(), RecordOrigin(TP, fails))[1].key


class WantsHeaders:
    """A deserialiser that is told apart by its attribute."""

    takes_headers = True

    def __call__(self, headers: object, data: bytes | None) -> tuple[object, bytes | None]:
        """Give what it got."""
        return headers, data


@engines
def test_a_deserialiser_may_want_the_headers(decode: FetchedDecoder) -> None:
    """Those of the very record."""
    first, second = made(decode, batch(), RecordOrigin(TP, WantsHeaders(), WantsHeaders()))
    assert first.key == (list(HEADERS), b"k")
    assert first.value == (list(HEADERS), b'{"a": 1}')
    assert second.value == ([], None)


@engines
def test_messages_have_no_epoch_and_no_headers(decode: FetchedDecoder) -> None:
    """Those of older brokers, or older topics."""
    (one,) = made(decode, build_message_set([Record(1, b"k", b"v")]))
    assert (one.leader_epoch, one.timestamp, one.timestamp_type) == (-1, -1, -1)
    assert one.headers == []


@engines
def test_equal_is_what_the_log_says_of_both(decode: FetchedDecoder) -> None:
    """Deserialisers play no part in it, nor does the engine."""
    first, second = made(decode, batch())
    again = made(decode_purely, batch(), RecordOrigin(TP, None, json.loads))
    natively = made(decode_fetched, batch(), RecordOrigin(TP, None, json.loads))
    assert first == again[0] == natively[0] == first
    assert natively[0] == again[0]
    assert {first, again[0], natively[0]} == {first}
    assert first != second
    assert second != first
    assert first != (1, 2)
    assert made(decode, batch(), RecordOrigin(TopicPartition("clicks", 4)))[0] != first
    other_epoch = build_batch(
        [Record(8, None, None, NOW + 5, TimestampType.CREATE_TIME)],
        traits=BatchTraits(leader_epoch=5),
    )
    assert made(decode, other_epoch)[0] != second


@engines
def test_a_pickled_record_needs_no_deserialiser(decode: FetchedDecoder) -> None:
    """Not even one that can't be pickled."""
    origin = RecordOrigin(TP, lambda data: data.decode(), lambda data: [json.loads(data)])
    for record in made(decode, batch(), origin):
        again = pickle.loads(pickle.dumps(record))
        assert again == record
        assert (again.key, again.value) == (record.key, record.value)
        assert pickle.loads(pickle.dumps(again)) == record
        assert copy.deepcopy(record) == copy.copy(record) == record


@engines
def test_a_deserialisers_owner_that_keeps_a_record_goes_with_it(decode: FetchedDecoder) -> None:
    """They hold each other in a circle, which only the garbage collector can open."""

    class Reader:
        last: ConsumerRecord | None = None

        def text(self, data: bytes) -> str:
            return data.decode()

    reader = Reader()
    reader.last = made(decode, batch(), RecordOrigin(TP, None, reader.text))[0]
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None


@engines
def test_representation_names_all_and_calls_nobody(decode: FetchedDecoder) -> None:
    """A log line must not fail, whatever the deserialiser thinks of the bytes."""
    first, _ = made(decode, batch(), RecordOrigin(TP, None, int))
    text = repr(first)
    for part in ("topic='clicks'", "partition=3", "offset=7", "leader_epoch=4", "b'k'", "'trace'"):
        assert part in text
    assert text == repr(made(decode_purely, batch())[0])


@engines
def test_a_record_is_all_its_fields_in_their_order(decode: FetchedDecoder) -> None:
    """By index as by name, like kafka-python's: whoever stores records goes through them so."""
    first, _ = made(decode, batch())
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
    """It is a value."""
    first, _ = made(decode, batch())
    for name in ("offset", "key", "value", "headers", "topic", "anything"):
        with pytest.raises(AttributeError):
            setattr(first, name, 1)
