"""The schemas of a drain: fetched once, kept in order, agreed on by two that race."""

import base64
import json
from typing import cast
from uuid import UUID

import pytest
from google.protobuf import descriptor_pb2

from tests.fakes.memory_storage import MemoryStorage
from tests.support.schemas import USER, avro, avro_value, with_id
from zkconsumer.drain import layout
from zkconsumer.drain.adopted_schemas import AdoptedSchemas
from zkconsumer.errors import DrainError
from zkconsumer.schemas.decoding import AdoptedSchema, SchemaUse, ValueDecoding
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.remembered import RememberedSchemas
from zkconsumer.schemas.wire_format import SchemaKey

GUID = UUID("0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4")
KEYS: list[SchemaKey] = [7, GUID, "t-value"]


class NumberedSchemas:
    """See ``SchemaSource``: knows all ids below 1,000,000.

    Args:
        text: what makes its schemas other ones than those of another source.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.asked: list[SchemaKey] = []

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        self.asked.append(key)
        if isinstance(key, int) and key >= 1_000_000:
            return None
        return SchemaDefinition(kind="avro", text=self._text, references=(("a", "b"),))


def memory() -> MemoryStorage:
    """An empty place."""
    return MemoryStorage(lambda _point: None)


def adopt(catalog: AdoptedSchemas, key: SchemaKey, *message: int) -> bool:
    """As decoding does; whether there is one."""
    definition = catalog.find(key)
    if definition is not None:
        catalog.adopt(AdoptedSchema(SchemaUse(key, message), definition))
    return definition is not None


def test_schemas_are_fetched_once_and_known_again() -> None:
    """Whatever names them, for any of their messages; one that is not there is not kept."""
    storage, source = memory(), NumberedSchemas("one")
    first = AdoptedSchemas(storage, source)
    for key in KEYS * 2:
        assert adopt(first, key, 1, 2)
    assert not adopt(first, 1_000_000)
    assert source.asked == [*KEYS, 1_000_000]
    other = NumberedSchemas("another")
    again = AdoptedSchemas(storage, other)
    assert list(again.adopted()) == list(first.adopted())
    assert [use for use, _ in again.adopted()] == [SchemaUse(key, (1, 2)) for key in KEYS]
    assert adopt(again, 7, 1, 2)
    assert adopt(again, 7, 3)
    assert other.asked == []
    assert again.adopted()[-1] == (SchemaUse(7, (3,)), again.adopted()[0].definition)


def test_two_that_race_have_one_order() -> None:
    """The one that comes second takes what the first has written, in its order."""
    storage = memory()
    one, other = (
        AdoptedSchemas(storage, NumberedSchemas("one")),
        AdoptedSchemas(storage, NumberedSchemas("other")),
    )
    adopt(one, 1)
    adopt(other, 2)
    adopt(other, 1)
    adopt(one, 2)
    adopt(one, 3)
    adopt(other, 3)
    assert list(one.adopted()) == list(other.adopted())
    assert [(use.schema, it.text) for use, it in one.adopted()] == [
        (1, "one"),
        (2, "other"),
        (3, "one"),
    ]


def test_what_another_has_kept_is_known() -> None:
    """Without looking for anything: who publishes its manifest asks for columns alone."""
    storage = memory()
    one, other = (
        AdoptedSchemas(storage, NumberedSchemas("one")),
        AdoptedSchemas(storage, NumberedSchemas("other")),
    )
    adopt(one, 1)
    assert list(other.adopted()) == list(one.adopted())


def test_their_number_is_bounded() -> None:
    """What comes later is not taken in, and what was there stays."""
    storage = memory()
    catalog = AdoptedSchemas(storage, NumberedSchemas("one"))
    for key in range(1_001):
        adopt(catalog, key)
    assert len(catalog.adopted()) == len(storage.content) == 1_000
    again = AdoptedSchemas(storage, NumberedSchemas("one"))
    assert [use.schema for use, _ in again.adopted()] == list(range(1_000))


class OneOf:
    """See ``SchemaSource``: some schemas.

    Args:
        known: by what names them.
    """

    def __init__(self, **known: SchemaDefinition) -> None:
        self._known = {int(name[1:]): definition for name, definition in known.items()}
        self.asked: list[SchemaKey] = []

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        self.asked.append(key)
        return self._known.get(cast("int", key))


def test_bad_message_indexes_take_no_place() -> None:
    """Anybody can write any number of them: they are dead letters, and good values go on."""
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3")
    for name in ("A", "B"):
        file.message_type.add(name=name).field.add(name=name, number=1, type=3, label=1)
    text = base64.b64encode(file.SerializeToString()).decode()
    source = OneOf(s1=SchemaDefinition(kind="protobuf", text=text))
    storage = memory()
    bad = [with_id(1, b"\2" + _zigzag(at) + b"\x08\1") for at in range(2, 1_102)]
    good = [with_id(1, b"\0\x08\1"), with_id(1, b"\2\2\x08\2")]
    catalog = AdoptedSchemas(storage, RememberedSchemas(source))
    found = ValueDecoding("protobuf", catalog).decode(bad + good)
    assert sorted(found.rejects) == list(range(1_100))
    reason = "the schema has no column type: it has no message with indexes [2]"
    assert found.rejects[0] == f"schema 1: {reason}"
    assert found.column is not None
    assert found.column.to_pylist()[-2:] == [{"A": 1, "B": None}, {"A": None, "B": 2}]
    assert source.asked == [1]
    assert len(storage.content) == 2
    again = ValueDecoding("protobuf", AdoptedSchemas(storage, OneOf())).decode(good)
    assert again.column == found.column[-2:]


def _zigzag(number: int) -> bytes:
    """A varint of two bytes at most."""
    number <<= 1
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])


def test_too_many_schemas_make_dead_letters_of_those_that_come_later() -> None:
    """A run goes on, and so does the next: what was kept is decoded."""
    storage = memory()
    schema = avro({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]})
    known = {f"s{at}": schema for at in range(1_002)}
    values = [with_id(at, b"\2") for at in range(1_002)]
    decoding = ValueDecoding("avro", AdoptedSchemas(storage, OneOf(**known)))
    assert list(decoding.decode(values).rejects) == [1_000, 1_001]
    again = ValueDecoding("avro", AdoptedSchemas(storage, OneOf(**known))).decode(values[::-1])
    assert list(again.rejects) == [0, 1]
    assert "too many schemas" in again.rejects[0]


def test_a_schema_that_no_value_is_of_is_not_kept() -> None:
    """A value of 5 bytes can name anybody's: it must not say what the column is."""
    foreign = {"type": "record", "name": "F", "fields": [{"name": "id", "type": "string"}]}
    storage, source = memory(), OneOf(s1=avro(USER), s9=avro(foreign))
    good = avro_value(1, USER, {"id": 7, "name": None})
    decoding = ValueDecoding("avro", AdoptedSchemas(storage, source))
    found = decoding.decode([with_id(9, b""), good, with_id(9, b"\x63"), good])
    assert sorted(found.rejects) == [0, 2]
    assert found.column is not None
    assert found.column.to_pylist()[1] == {"id": 7, "name": None}
    assert [use.schema for use, _ in AdoptedSchemas(storage, source).adopted()] == [1]


def test_a_schema_that_no_column_can_have_harms_nothing_else() -> None:
    """A name of half a surrogate pair, which no file can hold: not then, not in the next run."""
    bad = SchemaDefinition(kind="json", text='{"properties": {"\\ud800": {"type": "string"}}}')
    good = SchemaDefinition(kind="json", text='{"properties": {"a": {"type": "string"}}}')
    storage, source = memory(), OneOf(s1=bad, s2=good)
    values = [with_id(1, b"{}"), with_id(2, b'{"a": "x"}')]
    for _ in range(2):
        found = ValueDecoding("json", AdoptedSchemas(storage, source)).decode(values)
        assert found.column is not None
        assert found.column.to_pylist()[1] == {"a": "x"}
        for reason in found.rejects.values():
            reason.encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"named_by": "name"}, "names no schema"),
        ({"name": "seven"}, "names no schema"),
        ({"message": ["0"]}, "whole numbers"),
        ({"schema": {"kind": "avro"}}, "names no schema"),
        ({"schema": {"kind": "avro", "text": "", "references": [["a"]]}}, "names no schema"),
    ],
)
def test_a_damaged_file_is_an_error(change: dict[str, object], reason: str) -> None:
    """Else rows would be decoded in another way than before."""
    storage = memory()
    adopt(AdoptedSchemas(storage, NumberedSchemas("one")), 7)
    path = layout.schema_file(1)
    value = json.loads(storage.read(path) or b"")
    storage.content[path] = json.dumps({**value, **change}).encode()
    with pytest.raises(DrainError, match=reason):
        AdoptedSchemas(storage, NumberedSchemas("one"))


def test_a_definition_is_what_it_was() -> None:
    """Through its file."""
    definition = avro(USER, ("a", "int"))
    assert SchemaDefinition.from_value(definition.to_value()) == definition
    assert AdoptedSchema(SchemaUse(1), definition).definition is definition
