"""Catalogs of schemas in memory, for decoding that writes nothing."""

from collections.abc import Iterable, Sequence

from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema, SchemaUse
from zkconsumer.schemas.definition import SchemaDefinition, SchemaSource
from zkconsumer.schemas.wire_format import SchemaKey


class OneSchema:
    """A source that finds the same schema for every key; see ``SchemaSource``."""

    def __init__(self, definition: SchemaDefinition) -> None:
        self._definition = definition

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        del key
        return self._definition


class MemoryCatalog:
    """A catalog in memory; see ``SchemaCatalog``.

    Args:
        source: finds schemas that are not adopted.
        adopted: the adopted schemas of the column, in order.
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
        """See ``SchemaCatalog``; adopted schemas are not requested from the source again."""
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
    """A catalog that adopts nothing, so that a column's type never changes.

    Values of other schemas are rejects, even if a source has these schemas.

    Args:
        adopted: the adopted schemas of the column, in order.

    Attributes:
        met: the schemas that it was to adopt and did not, by use, in the order of the requests.
    """

    def __init__(self, source: SchemaSource, adopted: Iterable[AdoptedSchema]) -> None:
        super().__init__(source, adopted)
        self.met: dict[SchemaUse, AdoptedSchema] = {}

    def adopt(self, new: AdoptedSchema) -> None:
        """Record a schema that the column does not include."""
        if len(self._adopted) + len(self.met) < MAX_SCHEMAS:
            self.met.setdefault(new.use, new)
