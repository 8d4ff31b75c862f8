"""Schemas kept in memory: for decoding that writes nothing."""

from collections.abc import Iterable, Sequence

from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema, SchemaUse
from zkconsumer.schemas.definition import SchemaDefinition, SchemaSource
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
    """See ``SchemaCatalog``.

    Args:
        source: finds schemas that are not adopted.
        adopted: schemas of the column, in their order.
    """

    def __init__(self, source: SchemaSource, adopted: Iterable[AdoptedSchema] = ()) -> None:
        self._source = source
        self._adopted: list[AdoptedSchema] = []
        self._definitions: dict[SchemaKey, SchemaDefinition] = {}
        for schema in adopted:
            self._add(schema)

    def adopted(self) -> Sequence[AdoptedSchema]:
        """See ``SchemaCatalog``."""
        return self._adopted

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaCatalog``: what is adopted is not requested again."""
        known = self._definitions.get(key)
        return self._source.find(key) if known is None else known

    def adopt(self, new: AdoptedSchema) -> None:
        """See ``SchemaCatalog``."""
        if len(self._adopted) < MAX_SCHEMAS:
            self._add(new)

    def _add(self, schema: AdoptedSchema) -> None:
        self._adopted.append(schema)
        self._definitions.setdefault(schema.use.schema, schema.definition)


class FixedCatalog(MemoryCatalog):
    """A catalog that adopts nothing, so that a column's type stays what it is.

    Values of other schemas are rejects therefore, whatever a source has by then.

    Args:
        adopted: the schemas of the column, in their order.

    Attributes:
        met: the schemas that it should have adopted, by use, in the order of their coming.
    """

    def __init__(self, source: SchemaSource, adopted: Iterable[AdoptedSchema]) -> None:
        super().__init__(source, adopted)
        self.met: dict[SchemaUse, AdoptedSchema] = {}

    def adopt(self, new: AdoptedSchema) -> None:
        """Record a schema that is not of the column."""
        if len(self._adopted) + len(self.met) < MAX_SCHEMAS:
            self.met.setdefault(new.use, new)
