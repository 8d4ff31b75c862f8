"""Schemas of a drain: fetched once, kept in order, and consistent between concurrent drains."""

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
    """A ``SchemaSource`` that has all ids below 1,000,000.

    Args:
        text: distinguishes its schemas from those of another source.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.requested: list[SchemaKey] = []

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        self.requested.append(key)
        if isinstance(key, int) and key >= 1_000_000:
            return None
        return SchemaDefinition(kind="avro", text=self._text, references=(("a", "b"),))


def memory() -> MemoryStorage:
    """Build an empty storage."""
    return MemoryStorage(lambda _point: None)


def adopt(catalog: AdoptedSchemas, key: SchemaKey, *message: int) -> bool:
    """Adopt a schema as decoding does; return whether it exists."""
    definition = catalog.find(key)
    if definition is not None:
        catalog.adopt(AdoptedSchema(SchemaUse(key, message), definition))
    return definition is not None


def test_schemas_are_fetched_once_and_known_again() -> None:
    """A schema is fetched once for all its messages and later runs; a missing one is not stored."""
    storage, source = memory(), NumberedSchemas("one")
    first = AdoptedSchemas(storage, source)
    for key in KEYS * 2:
        assert adopt(first, key, 1, 2)
    assert not adopt(first, 1_000_000)
    assert source.requested == [*KEYS, 1_000_000]
    other = NumberedSchemas("another")
    again = AdoptedSchemas(storage, other)
    assert list(again.adopted()) == list(first.adopted())
    assert [use for use, _ in again.adopted()] == [SchemaUse(key, (1, 2)) for key in KEYS]
    assert adopt(again, 7, 1, 2)
    assert adopt(again, 7, 3)
    assert other.requested == []
    assert again.adopted()[-1] == (SchemaUse(7, (3,)), again.adopted()[0].definition)


def test_concurrent_drains_agree_on_the_order() -> None:
    """A drain that comes second takes over what the first wrote, in its order."""
    storage = memory()
    first, other = (
        AdoptedSchemas(storage, NumberedSchemas("one")),
        AdoptedSchemas(storage, NumberedSchemas("other")),
    )
    adopt(first, 1)
    adopt(other, 2)
    adopt(other, 1)
    adopt(first, 2)
    adopt(first, 3)
    adopt(other, 3)
    assert list(first.adopted()) == list(other.adopted())
    assert [(use.schema, definition.text) for use, definition in first.adopted()] == [
        (1, "one"),
        (2, "other"),
        (3, "one"),
    ]


def test_schemas_adopted_by_another_drain_are_seen() -> None:
    """They are seen without a lookup, since publishing a manifest only reads the columns."""
    storage = memory()
    first, other = (
        AdoptedSchemas(storage, NumberedSchemas("one")),
        AdoptedSchemas(storage, NumberedSchemas("other")),
    )
    adopt(first, 1)
    assert list(other.adopted()) == list(first.adopted())


def test_the_number_of_adopted_schemas_is_bounded() -> None:
    """Later schemas are not adopted, and earlier ones stay."""
    storage = memory()
    catalog = AdoptedSchemas(storage, NumberedSchemas("one"))
    for key in range(1_001):
        adopt(catalog, key)
    assert len(catalog.adopted()) == len(storage.content) == 1_000
    again = AdoptedSchemas(storage, NumberedSchemas("one"))
    assert [use.schema for use, _ in again.adopted()] == list(range(1_000))


class GivenSchemas:
    """A ``SchemaSource`` with some schemas.

    Args:
        known: the schemas, by their ids after an "s".
    """

    def __init__(self, **known: SchemaDefinition) -> None:
        self._known = {int(name[1:]): definition for name, definition in known.items()}
        self.requested: list[SchemaKey] = []

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        self.requested.append(key)
        return self._known.get(cast("int", key))


def test_bad_message_indexes_are_not_adopted() -> None:
    """Producers can write any number of them: they are dead letters, and good values decode."""
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3")
    for name in ("A", "B"):
        file.message_type.add(name=name).field.add(name=name, number=1, type=3, label=1)
    text = base64.b64encode(file.SerializeToString()).decode()
    source = GivenSchemas(s1=SchemaDefinition(kind="protobuf", text=text))
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
    assert source.requested == [1]
    assert len(storage.content) == 2
    again = ValueDecoding("protobuf", AdoptedSchemas(storage, GivenSchemas())).decode(good)
    assert again.column == found.column[-2:]


def _zigzag(number: int) -> bytes:
    """Encode a varint of at most two bytes."""
    number <<= 1
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])


def test_values_of_surplus_schemas_are_dead_letters() -> None:
    """The run continues, and so does the next one with the schemas that were adopted."""
    storage = memory()
    schema = avro({"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]})
    known = {f"s{at}": schema for at in range(1_002)}
    values = [with_id(at, b"\2") for at in range(1_002)]
    decoding = ValueDecoding("avro", AdoptedSchemas(storage, GivenSchemas(**known)))
    assert list(decoding.decode(values).rejects) == [1_000, 1_001]
    again = ValueDecoding("avro", AdoptedSchemas(storage, GivenSchemas(**known))).decode(
        values[::-1]
    )
    assert list(again.rejects) == [0, 1]
    assert "too many schemas" in again.rejects[0]


def test_a_schema_without_a_valid_value_is_not_adopted() -> None:
    """Five bytes can name any schema, which must not determine the column."""
    foreign = {"type": "record", "name": "F", "fields": [{"name": "id", "type": "string"}]}
    storage, source = memory(), GivenSchemas(s1=avro(USER), s9=avro(foreign))
    good = avro_value(1, USER, {"id": 7, "name": None})
    decoding = ValueDecoding("avro", AdoptedSchemas(storage, source))
    found = decoding.decode([with_id(9, b""), good, with_id(9, b"\x63"), good])
    assert sorted(found.rejects) == [0, 2]
    assert found.column is not None
    assert found.column.to_pylist()[1] == {"id": 7, "name": None}
    assert [use.schema for use, _ in AdoptedSchemas(storage, source).adopted()] == [1]


def test_a_schema_with_an_invalid_name_does_not_affect_others() -> None:
    """A lone surrogate cannot be stored in a file; other values are decoded in every run."""
    bad = SchemaDefinition(kind="json", text='{"properties": {"\\ud800": {"type": "string"}}}')
    good = SchemaDefinition(kind="json", text='{"properties": {"a": {"type": "string"}}}')
    storage, source = memory(), GivenSchemas(s1=bad, s2=good)
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
    """Otherwise rows would be decoded differently than before."""
    storage = memory()
    adopt(AdoptedSchemas(storage, NumberedSchemas("one")), 7)
    path = layout.schema_file(1)
    value = json.loads(storage.read(path) or b"")
    storage.content[path] = json.dumps({**value, **change}).encode()
    with pytest.raises(DrainError, match=reason):
        AdoptedSchemas(storage, NumberedSchemas("one"))


def test_a_definition_survives_its_file() -> None:
    """A definition that is stored and read back is unchanged."""
    definition = avro(USER, ("a", "int"))
    assert SchemaDefinition.from_value(definition.to_value()) == definition
    assert AdoptedSchema(SchemaUse(1), definition).definition is definition
