"""Values as Confluent's serializers write them, and a schema catalog in memory."""

import io
import json
from collections.abc import Mapping, Sequence

from fastavro import parse_schema, schemaless_writer

from zkconsumer.schemas.decoding import AdoptedSchema
from zkconsumer.schemas.definition import SchemaDefinition, UnusableSchema
from zkconsumer.schemas.wire_format import SchemaKey

USER = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
    ],
}


def with_id(schema_id: int, payload: bytes) -> bytes:
    """Return a payload with the 5-byte prefix of its schema id."""
    return b"\0" + schema_id.to_bytes(4) + payload


def avro_bytes(schema: object, value: object) -> bytes:
    """Return a value encoded as Avro."""
    out = io.BytesIO()
    schemaless_writer(out, parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def avro_value(schema_id: int, schema: object, value: object) -> bytes:
    """Return a value encoded as Avro, with its schema id."""
    return with_id(schema_id, avro_bytes(schema, value))


def avro(schema: object, *references: tuple[str, object]) -> SchemaDefinition:
    """Return an Avro schema, with the schemas it references."""
    return SchemaDefinition(
        kind="avro",
        text=json.dumps(schema),
        references=tuple((name, json.dumps(reference)) for name, reference in references),
    )


class MemoryCatalog:
    """A ``SchemaCatalog`` in memory.

    Args:
        known: the schemas by key, or the errors of unusable ones.
    """

    def __init__(self, known: Mapping[SchemaKey, SchemaDefinition | UnusableSchema]) -> None:
        self.known = dict(known)
        self.looked_up: list[SchemaKey] = []
        self._adopted: list[AdoptedSchema] = []

    def adopted(self) -> Sequence[AdoptedSchema]:
        """See ``SchemaCatalog``."""
        return list(self._adopted)

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaCatalog``."""
        self.looked_up.append(key)
        definition = self.known.get(key)
        if isinstance(definition, UnusableSchema):
            raise definition
        return definition

    def adopt(self, new: AdoptedSchema) -> None:
        """See ``SchemaCatalog``."""
        self._adopted.append(new)
