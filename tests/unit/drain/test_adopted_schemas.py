"""The schemas of a drain: fetched once, kept in order, agreed on by two that race."""

import json
from uuid import UUID

import pytest

from tests.fakes.memory_storage import MemoryStorage
from tests.support.schemas import USER, avro
from zkconsumer.drain import layout
from zkconsumer.drain.adopted_schemas import AdoptedSchemas
from zkconsumer.errors import DrainError, SchemaError
from zkconsumer.schemas.decoding import AdoptedSchema, SchemaUse
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey

GUID = UUID("0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4")
KEYS: list[SchemaKey] = [7, GUID, "t-value"]


class Source:
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


def test_schemas_are_fetched_once_and_known_again() -> None:
    """Whatever names them; one that is not there is not kept."""
    storage, source = memory(), Source("one")
    first = AdoptedSchemas(storage, source)
    for key in KEYS * 2:
        assert first.adopt(SchemaUse(key, (1, 2)))
    assert not first.adopt(SchemaUse(1_000_000))
    assert source.asked == [*KEYS, 1_000_000]
    other = Source("another")
    again = AdoptedSchemas(storage, other)
    assert list(again.adopted()) == list(first.adopted())
    assert [use for use, _ in again.adopted()] == [SchemaUse(key, (1, 2)) for key in KEYS]
    assert again.adopt(SchemaUse(7, (1, 2)))
    assert other.asked == []


def test_two_that_race_have_one_order() -> None:
    """The one that comes second takes what the first has written, in its order."""
    storage = memory()
    one, other = AdoptedSchemas(storage, Source("one")), AdoptedSchemas(storage, Source("other"))
    one.adopt(SchemaUse(1))
    other.adopt(SchemaUse(2))
    other.adopt(SchemaUse(1))
    one.adopt(SchemaUse(2))
    one.adopt(SchemaUse(3))
    other.adopt(SchemaUse(3))
    assert list(one.adopted()) == list(other.adopted())
    assert [(use.schema, it.text) for use, it in one.adopted()] == [
        (1, "one"),
        (2, "other"),
        (3, "one"),
    ]


def test_their_number_is_bounded() -> None:
    """The run ends there, with a sentence."""
    catalog = AdoptedSchemas(memory(), Source("one"))
    for key in range(1_000):
        catalog.adopt(SchemaUse(key))
    with pytest.raises(SchemaError, match="more than 1000 schemas"):
        catalog.adopt(SchemaUse(1_000))


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
    AdoptedSchemas(storage, Source("one")).adopt(SchemaUse(7))
    path = layout.schema_file(1)
    value = json.loads(storage.read(path) or b"")
    storage.content[path] = json.dumps({**value, **change}).encode()
    with pytest.raises(DrainError, match=reason):
        AdoptedSchemas(storage, Source("one"))


def test_a_definition_is_what_it_was() -> None:
    """Through its file."""
    definition = avro(USER, ("a", "int"))
    assert SchemaDefinition.from_value(definition.to_value()) == definition
    assert AdoptedSchema(SchemaUse(1), definition).definition is definition
