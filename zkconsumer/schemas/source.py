"""Where schemas come from: the seam between a catalog and registries or folders. Pure."""

from typing import Protocol

from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey


class SchemaSource(Protocol):
    """Finds schemas. Thread: one at a time."""

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """A schema; None where there surely is none of this key.

        Raises:
            SchemaError: it can't be told, or it can't be had.
        """
        ...
