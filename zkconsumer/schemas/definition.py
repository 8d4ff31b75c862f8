"""A schema, as returned by a registry or a folder, and as stored by a drain. Pure."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self, get_args

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.wire_format import SchemaKey

SchemaKind = Literal["avro", "json", "protobuf"]
KINDS: tuple[str, ...] = get_args(SchemaKind)

MAX_SCHEMA_BYTES: Final = 4 << 20
MAX_REFERENCES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDefinition:
    """One schema, with all schemas that it refers to.

    Attributes:
        kind: its language.
        text: Avro's or JSON Schema's JSON; for Protobuf a serialized ``FileDescriptorProto`` or
            ``FileDescriptorSet``, in base64.
        references: name and text of each schema that it refers to, directly or not; each comes
            after those that it refers to itself.
        is_set: whether the text is a ``FileDescriptorSet``.
    """

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    is_set: bool = False

    @property
    def chars(self) -> int:
        """The length of its text, plus the lengths of all referenced texts."""
        return len(self.text) + sum(len(name) + len(text) for name, text in self.references)

    def to_value(self) -> dict[str, object]:
        """Return the schema as JSON values; ``from_value`` parses them."""
        return {
            "kind": self.kind,
            "text": self.text,
            "references": [list(reference) for reference in self.references],
            "is_set": self.is_set,
        }

    @classmethod
    def from_value(cls, value: Mapping[str, object]) -> Self:
        """Parse the result of ``to_value``.

        Raises:
            ValueError: the value is malformed.
        """
        kind, text, listed = value.get("kind"), value.get("text"), value.get("references")
        if not isinstance(kind, str) or not isinstance(text, str) or not isinstance(listed, list):
            raise ValueError("a schema has a kind, a text and references")  # noqa: TRY004 - of a file
        references = []
        for reference in listed:
            if not isinstance(reference, list) or list(map(type, reference)) != [str, str]:
                raise ValueError("a reference is a name and a text")
            references.append((reference[0], reference[1]))
        return cls(
            kind=kind,
            text=text,
            references=tuple(references),
            is_set=value.get("is_set") is True,
        )


def parsed_json(text: str | bytes, what: str) -> object:
    """Return the value of a JSON text.

    Raises:
        SchemaError: the text is not JSON, or is nested too deep; names ``what``.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise SchemaError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise SchemaError(f"{what} is not JSON: {error}") from None


def from_base64(text: str, what: str) -> bytes:
    """Return the bytes of a Protobuf descriptor.

    Raises:
        SchemaError: the text is not base64; most often it is the source of a ``.proto`` file.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SchemaError(
            f"{what} is not a serialized descriptor; give a descriptor set with --schemas"
        ) from None


class UnusableSchema(SchemaError):
    """A schema exists, but can't be used to decode."""


class AbsentReference(UnusableSchema):
    """A schema refers to a schema that does not exist yet."""


class SchemaSource(Protocol):
    """Finds schemas. Thread: one at a time."""

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """Return a schema; None if there is certainly none with this key.

        Raises:
            UnusableSchema: the schema exists, but can't be used.
            SchemaError: the schema can't be fetched, so whether it exists is unknown.
        """
        ...
