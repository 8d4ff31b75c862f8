"""Schemas kept in memory: for decoding that writes nothing."""

from collections.abc import Sequence

from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema, SchemaUse
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.source import SchemaSource
from zkconsumer.schemas.wire_format import SchemaKey


class OneSchema:
    """See ``SchemaSource``: one schema, whatever is asked for."""

    def __init__(self, definition: SchemaDefinition) -> None:
        self._definition = definition

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        del key
        return self._definition


class MemoryCatalog:
    """See ``SchemaCatalog``."""

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


class FixedCatalog:
    """See ``SchemaCatalog``: it takes in nothing, so that a column's type stays what it is.

    Values of other schemas are rejects therefore, whatever a source has by then.

    Attributes:
        met: the schemas that it should have taken in, by use, in the order of their coming.

    Args:
        adopted: the schemas of the column, in their order.
    """

    def __init__(self, adopted: Sequence[AdoptedSchema], source: SchemaSource) -> None:
        self._adopted = adopted
        self._source = source
        self._definitions: dict[SchemaKey, SchemaDefinition] = {}
        for use, definition in adopted:
            self._definitions.setdefault(use.schema, definition)
        self.met: dict[SchemaUse, AdoptedSchema] = {}

    def adopted(self) -> Sequence[AdoptedSchema]:
        """See ``SchemaCatalog``."""
        return self._adopted

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaCatalog``."""
        known = self._definitions.get(key)
        return self._source.find(key) if known is None else known

    def adopt(self, new: AdoptedSchema) -> None:
        """Record a schema that is not of the column."""
        if len(self._adopted) + len(self.met) < MAX_SCHEMAS:
            self.met.setdefault(new.use, new)
