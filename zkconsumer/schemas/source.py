"""Interface between a catalog and the registry or folder of its schemas. Pure."""

from typing import Protocol

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey


class UnusableSchema(SchemaError):
    """Raised for a schema that exists, but can't be used to decode."""


class AbsentReference(UnusableSchema):
    """Raised for a schema that refers to one that is not there: that one may come."""


class SchemaSource(Protocol):
    """Finds schemas. Thread: one at a time."""

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """Return a schema; None if it is certain that there is none of this key.

        Raises:
            UnusableSchema: there is one, but it can't be used.
            SchemaError: it is unknown, or can't be fetched.
        """
        ...
