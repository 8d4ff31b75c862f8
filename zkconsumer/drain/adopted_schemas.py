"""Stores the schemas of a drain's decoded column at its path, in the order of adoption.

Each schema is fetched once, and stored after a value was decoded with it, before any row that needs
it is landed. So a resumed drain decodes as before, whatever its registry returns by then; and two
drains on one path agree on the order.
"""

from collections.abc import Sequence
from uuid import UUID

from zkconsumer.drain import layout
from zkconsumer.drain.fields import Fields, JsonValue, damaged, to_bytes
from zkconsumer.drain.storage import Storage
from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema, SchemaUse
from zkconsumer.schemas.definition import SchemaDefinition, SchemaSource
from zkconsumer.schemas.memory_catalog import MemoryCatalog
from zkconsumer.schemas.wire_format import SchemaKey


class AdoptedSchemas(MemoryCatalog):
    """Keeps the adopted schemas at a drain's path. See ``SchemaCatalog``.

    Args:
        source: finds schemas that are not adopted yet.

    Raises:
        DrainError: the storage can't be read, or a file is damaged.
    """

    def __init__(self, storage: Storage, source: SchemaSource) -> None:
        super().__init__(source)
        self._storage = storage
        self._read_new()

    def adopted(self) -> Sequence[AdoptedSchema]:
        """See ``SchemaCatalog``; includes schemas that other processes have added."""
        self._read_new()
        return self._adopted

    def adopt(self, new: AdoptedSchema) -> None:
        """See ``SchemaCatalog``; another process may have been first."""
        self._read_new()
        while len(self._adopted) < MAX_SCHEMAS and all(
            known.use != new.use for known in self._adopted
        ):
            number = len(self._adopted) + 1
            if self._storage.create(layout.schema_file(number), _to_bytes(new)):
                self._add(new)
            else:
                self._read_new()

    def _read_new(self) -> None:
        while len(self._adopted) < MAX_SCHEMAS:
            path = layout.schema_file(len(self._adopted) + 1)
            data = self._storage.read(path)
            if data is None:
                return
            self._add(_from_bytes(self._storage.uri(path), data))


def _to_bytes(schema: AdoptedSchema) -> bytes:
    key = schema.use.schema
    what = "id" if isinstance(key, int) else "guid" if isinstance(key, UUID) else "subject"
    value: dict[str, JsonValue] = {
        "named_by": what,
        "name": str(key),
        "message": list(schema.use.message),
        "schema": dict(schema.definition.to_value()),  # type: ignore[arg-type] # is plain JSON
    }
    return to_bytes(value)


def _from_bytes(file: str, data: bytes) -> AdoptedSchema:
    fields = Fields.parse(file, data)
    what, name = fields.text("named_by"), fields.text("name")
    try:
        keys: dict[str, type[SchemaKey]] = {"id": int, "guid": UUID, "subject": str}
        key = keys[what](name)
        definition = SchemaDefinition.from_value(fields.mapping("schema"))
    except (KeyError, ValueError) as error:
        raise damaged(file, f"it names no schema ({error})") from error
    return AdoptedSchema(SchemaUse(key, fields.integers("message")), definition)
