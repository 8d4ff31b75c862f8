"""A record's fields, and records and other values as the named tuples of kafka-python."""

import copy
import json
import pickle
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import CODECS, LETTERS, TRANSACTIONS


def _record(s: Scene, number: int = 1) -> Any:
    """Read one record of the topic of letters."""
    return s.read(s.assigned(LETTERS, 0), 10)[number]


def _field(name: str) -> None:
    @case(f"its {name}")
    def _(s: Scene) -> object:
        return [getattr(_record(s, number), name) for number in (1, 2)]


for _name in (
    "topic", "partition", "leader_epoch", "offset", "timestamp", "timestamp_type", "key", "value",
    "headers", "checksum", "serialized_key_size", "serialized_value_size",
    "serialized_header_size",
):  # fmt: skip
    _field(_name)


@case("fields by index")
def _(s: Scene) -> object:
    record = _record(s)
    return [
        record[0],
        record[1],
        record[3],
        record[4],
        record[6],
        record[7],
        record[-1],
        record[6:8],
    ]


@case("unpacked")
def _(s: Scene) -> object:
    topic, partition, _epoch, offset, *others = _record(s)
    return [topic, partition, offset, len(others)]


@case("as a tuple")
def _(s: Scene) -> object:
    record = _record(s)
    return [tuple(record) == record, len(record), list(record)]


@case("isinstance of a tuple")
def _(s: Scene) -> object:
    return isinstance(_record(s), tuple)


@case("_fields")
def _(s: Scene) -> object:
    return list(_record(s)._fields)


@case("_asdict")
def _(s: Scene) -> object:
    return dict(_record(s)._asdict())


@case("_replace")
def _(s: Scene) -> object:
    record = _record(s)._replace(value=b"other", offset=77)
    return [record.value, record.offset, record.key]


@case("equal to itself, read again")
def _(s: Scene) -> object:
    return [_record(s) == _record(s), _record(s) == _record(s, 2)]


@case("in a set")
def _(s: Scene) -> object:
    return s.attempt(lambda: len({_record(s).value, _record(s).value}))


@case("copied")
def _(s: Scene) -> object:
    record = copy.copy(_record(s))
    return [record.value, record.offset]


@case("pickled")
def _(s: Scene) -> object:
    record = pickle.loads(pickle.dumps(_record(s)))
    return [record.value, record.key, record.offset, record.topic]


@case("shown")
def _(s: Scene) -> object:
    text = repr(_record(s))
    return [text.startswith("ConsumerRecord(topic='letters', partition=0"), "value=b'v0-1'" in text]


@case("assigning to a field")
def _(s: Scene) -> object:
    record = _record(s)
    return s.attempt(lambda: setattr(record, "value", b"x"))


@case("a null key")
def _(s: Scene) -> object:
    record = _record(s, 0)
    return [record.key, record.serialized_key_size]


@case("a null value")
def _(s: Scene) -> object:
    record = _record(s, 4)
    return [record.value, record.serialized_value_size]


@case("headers")
def _(s: Scene) -> object:
    record = _record(s, 2)
    return [type(record.headers).__name__, record.headers, record.serialized_header_size]


@case("no headers")
def _(s: Scene) -> object:
    record = _record(s, 1)
    return [type(record.headers).__name__, record.headers, record.serialized_header_size]


@case("kinds of keys, values and headers")
def _(s: Scene) -> object:
    record = _record(s, 2)
    return [
        type(record.key).__name__,
        type(record.value).__name__,
        type(record.headers[0]).__name__,
    ]


@case("an empty key and an empty value")
def _(s: Scene) -> object:
    topic = s.topic()
    s.writer.send(topic, b"", key=b"")
    record = s.read(s.assigned(topic), 1)[0]
    return [record.key, record.value, record.serialized_key_size, record.serialized_value_size]


@case("deserialised by a function")
def _(s: Scene) -> object:
    consumer = s.assigned(
        LETTERS, 1, value_deserializer=bytes.decode, key_deserializer=lambda key: key and key[:1]
    )
    return [[record.key, record.value] for record in s.read(consumer, 5)]


@case("deserialised: a null value")
def _(s: Scene) -> object:
    topic = s.topic(b"v")
    s.writer.send(topic, None)
    consumer = s.assigned(topic, value_deserializer=lambda data: "null" if data is None else "text")
    return s.values(consumer, 2)


@case("deserialised: by a function that can't take null")
def _(s: Scene) -> object:
    topic = s.topic(b"1")
    s.writer.send(topic, None)
    consumer = s.assigned(topic, value_deserializer=lambda data: json.loads(data.decode()))
    return s.attempt(lambda: s.values(consumer, 2))


@case("deserialised: one fails")
def _(s: Scene) -> object:
    topic = s.topic(b"1", b"no number", b"3")
    consumer = s.assigned(topic, value_deserializer=int)
    return s.attempt(lambda: s.values(consumer, 3))


@case("deserialised: sizes are those of the bytes")
def _(s: Scene) -> object:
    record = s.read(s.assigned(LETTERS, 1, value_deserializer=lambda data: data * 3), 5)[1]
    return [record.value, record.serialized_value_size]


@case("deserialised by an object")
def _(s: Scene) -> object:
    class Mine(s.lib.Deserializer):  # type: ignore[misc, name-defined]
        def deserialize(self, topic: str, _headers: Any, data: bytes) -> object:
            return [topic, data]

    return s.values(s.assigned(LETTERS, 1, value_deserializer=Mine()), 5)[0]


@case("deserialised by an object: it is given the headers")
def _(s: Scene) -> object:
    class Mine(s.lib.Deserializer):  # type: ignore[misc, name-defined]
        def deserialize(self, _topic: str, headers: Any, _data: bytes) -> object:
            return [list(header) for header in headers]

    return s.values(s.assigned(LETTERS, 0, value_deserializer=Mine()), 10)[2]


@case("deserialised by the library's own")
def _(s: Scene) -> object:
    topic = s.topic(b'{"a": 1}')
    json_values = s.values(s.assigned(topic, value_deserializer=s.lib.JsonSerializer()), 1)
    return [
        json_values,
        s.values(s.assigned(topic, value_deserializer=s.lib.DefaultSerializer()), 1),
    ]


@case("made with a deserialiser that is none")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.values(s.assigned(LETTERS, 1, value_deserializer="utf-8"), 5))


def _compressed(codec: str) -> None:
    @case(f"compressed with {codec}")
    def _(s: Scene) -> object:
        records = s.read(s.assigned(f"in-{codec}"), 20)
        return [[record.key, record.value[:10], record.serialized_value_size] for record in records]


for _codec in CODECS:
    _compressed(_codec)


@case("of transactions, uncommitted")
def _(s: Scene) -> object:
    return s.values(s.assigned(TRANSACTIONS), 5)


@case("of transactions, committed")
def _(s: Scene) -> object:
    consumer = s.assigned(TRANSACTIONS, isolation_level="read_committed")
    return [[record.offset, record.value] for record in s.read(consumer, 3)]


@case("of transactions: the position after all of them")
def _(s: Scene) -> object:
    consumer = s.assigned(TRANSACTIONS, isolation_level="read_committed")
    s.read(consumer, 3)
    s.until(lambda: consumer.poll(timeout_ms=200) or consumer.position(s.tp(TRANSACTIONS)) == 8)
    return consumer.position(s.tp(TRANSACTIONS))


@case("a TopicPartition")
def _(s: Scene) -> object:
    tp = s.lib.TopicPartition("t", 3)
    return [str(tp), repr(tp), tuple(tp), tp == ("t", 3), hash(tp) == hash(("t", 3)), tp._asdict()]


@case("a TopicPartition by keywords, and with wrong arguments")
def _(s: Scene) -> object:
    made = s.lib.TopicPartition(topic="t", partition=0)
    return [made, s.attempt(lambda: s.lib.TopicPartition("t")), made._replace(partition=9)]


@case("TopicPartitions in order")
def _(s: Scene) -> object:
    return sorted(s.tp(topic, offset) for topic in ("b", "a") for offset in (10, 9))


@case("an OffsetAndMetadata")
def _(s: Scene) -> object:
    offset = s.lib.OffsetAndMetadata(5, "m", -1)
    return [
        offset,
        offset[0],
        tuple(offset),
        offset == (5, "m", -1),
        offset._replace(offset=6),
        len(offset),
    ]


@case("an OffsetAndMetadata's defaults")
def _(s: Scene) -> object:
    made = s.lib.OffsetAndMetadata
    return s.attempts([made, lambda: made(5), lambda: made(5, None), lambda: made(5, "")])


@case("an OffsetAndTimestamp")
def _(s: Scene) -> object:
    made = s.lib.structs.OffsetAndTimestamp
    return s.attempts([lambda: made(1, 2, 3), lambda: made(1), lambda: list(made(1, 2, 3))])


@case("an OffsetAndTimestamp of 2.0, without a leader epoch")
def _(s: Scene) -> object:
    return s.lib.structs.OffsetAndTimestamp(1, 2)


def _has(where: str, *names: str) -> None:
    for name in names:
        case(f"{where} {name}")(
            lambda s, name=name: hasattr(  # type: ignore[misc]
                s.lib.structs if where == "structs has" else s.lib, name
            )
        )


_has(
    "structs has",
    *("TopicPartition", "OffsetAndMetadata", "OffsetAndTimestamp"),
    *("ConsumerGroupMetadata", "MemberState"),
)
_has(
    "the package has",
    *("KafkaConsumer", "TopicPartition", "OffsetAndMetadata", "ConsumerGroupMetadata"),
    *("ConsumerRebalanceListener", "AsyncConsumerRebalanceListener", "Serializer"),
    *("Deserializer", "DefaultSerializer", "JsonSerializer", "IsolationLevel"),
)
