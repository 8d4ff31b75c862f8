"""Schemas kept for as long as a process lives: for decoding that leaves nothing behind."""

from collections.abc import Sequence

from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.source import SchemaSource
from zkconsumer.schemas.wire_format import SchemaKey


class OneSchema:
    """See ``SchemaSource``: one schema, whatever is asked for.

    Args:
        definition: of it.
    """

    def __init__(self, definition: SchemaDefinition) -> None:
        self._definition = definition

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        del key
        return self._definition


class MemoryCatalog:
    """See ``SchemaCatalog``.

    Args:
        source: finds schemas.
    """

    def __init__(self, source: SchemaSource) -> None:
        self._source = source
        self._adopted: list[AdoptedSchema] = []

    def adopted(self) -> Sequence[AdoptedSchema]:
        """See ``SchemaCatalog``."""
        return self._adopted

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaCatalog``."""
        return self._source.find(key)

    def adopt(self, new: AdoptedSchema) -> None:
        """See ``SchemaCatalog``."""
        if len(self._adopted) < MAX_SCHEMAS:
            self._adopted.append(new)
