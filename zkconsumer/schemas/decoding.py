"""Values to one typed Arrow column, and rejects: each value is decoded alone. Pure.

The column's type grows with the schemas that are met, in the order in which the catalog knows them,
so that whoever decodes the same values with the same catalog gets the same rows and rejects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.column_types import TypeConflict, merged
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.payloads import PayloadDecoder, payload_decoder
from zkconsumer.schemas.wire_format import BadValue, FramedValue, SchemaKey, framed

_SHOWN_CHARS: Final = 300
_MOST_UNKNOWN: Final = 1_000


class SchemaUse(NamedTuple):
    """A schema, and the message of it that values are.

    Attributes:
        schema: which schema.
        message: for Protobuf, the indexes that lead to the message; else empty.
    """

    schema: SchemaKey
    message: tuple[int, ...] = ()


class AdoptedSchema(NamedTuple):
    """A schema that a column is made for."""

    use: SchemaUse
    definition: SchemaDefinition


class SchemaCatalog(Protocol):
    """The schemas of a column, in the order in which it came to have them."""

    def adopted(self) -> Sequence[AdoptedSchema]:
        """All that are known now; more may follow, never others before them."""
        ...

    def adopt(self, use: SchemaUse) -> bool:
        """Find a schema and add it; False where there is none of this key.

        Raises:
            SchemaError: it can't be told whether there is one, or it can't be had.
            ZkConsumerError: it can't be kept.
        """
        ...


@dataclass(slots=True, kw_only=True)
class DecodedValues:
    """What some values came to; all lists have the length of the values.

    Attributes:
        column: of the decoded values, null for null and for rejects; None where no schema is known.
        schemas: what names the schema of each value; None where that is not known, or none.
        payload_starts: how many bytes of each value come before its payload.
        rejects: why values could not be decoded, by their places.
    """

    column: pa.Array | None = None
    schemas: list[SchemaKey | None] = field(default_factory=list)
    payload_starts: list[int] = field(default_factory=list)
    rejects: dict[int, str] = field(default_factory=dict)


class ValueDecoding:
    """Decodes the values of one column. Thread: one at a time.

    Args:
        kind: of the schemas: ``avro``, ``json`` or ``protobuf``.
        catalog: where schemas are found.
        subject: whose latest schema the values are of, where they are bare payloads; None where
            they have schema ids.
        reader: an Avro schema that values are resolved to, which then says the column's type; None
            for a type that grows.

    Raises:
        SchemaError: the reader's schema can't be a column.
    """

    def __init__(
        self,
        kind: str,
        catalog: SchemaCatalog,
        subject: str | None = None,
        reader: SchemaDefinition | None = None,
    ) -> None:
        self._reader = reader
        self._has_indexes = kind == "protobuf"
        self._kind = kind
        self._catalog = catalog
        self._subject = subject
        self._known = 0
        self._decoders: dict[SchemaUse, PayloadDecoder | str] = {}
        self._unknown: set[SchemaUse] = set()
        self.type: pa.DataType | None = None
        if reader is not None:
            self.type = payload_decoder(reader, ()).type
        self.catch_up()

    def catch_up(self) -> None:
        """Take in what the catalog knows by now."""
        adopted = self._catalog.adopted()
        for use, definition in adopted[self._known :]:
            self._decoders[use] = self._decoder(use, definition)
        self._known = len(adopted)

    def decode(
        self, values: Sequence[bytes | None], headers: Mapping[int, bytes] | None = None
    ) -> DecodedValues:
        """Decode values.

        Args:
            values: whole; null stays null.
            headers: those of the name ``VALUE_HEADER``, by the place of their value.

        Raises:
            SchemaError: a schema can't be had now; which values are bad can't be told without it.
        """
        found = DecodedValues(
            schemas=[None] * len(values), payload_starts=[0] * len(values), rejects={}
        )
        decoded: list[object] = [None] * len(values)
        for at, value in enumerate(values):
            if value is None:
                continue
            try:
                parts = self._framed(value, (headers or {}).get(at))
                found.schemas[at] = None if self._subject is not None else parts.schema
                found.payload_starts[at] = parts.payload_start
                decoder = self._decoder_of(SchemaUse(parts.schema, parts.message))
            except BadValue as error:
                found.rejects[at] = str(error)
                continue
            try:
                decoded[at] = decoder.decode(value[parts.payload_start :])
            except Exception as error:  # noqa: BLE001 - whatever a library raises over such bytes
                found.rejects[at] = _reason(error)
        if self.type is not None:
            found.column = self._column(decoded, found.rejects)
        return found

    def _framed(self, value: bytes, header: bytes | None) -> FramedValue:
        if self._subject is not None:
            return FramedValue(self._subject, (), 0)
        return framed(value, header, has_indexes=self._has_indexes)

    def _decoder_of(self, use: SchemaUse) -> PayloadDecoder:
        found = self._decoders.get(use)
        if found is None:
            if use in self._unknown:
                raise BadValue(_not_there(use))
            if len(self._unknown) >= _MOST_UNKNOWN:
                raise BadValue(
                    f"{named(use.schema)} was not looked for: {_MOST_UNKNOWN} others were not there"
                )
            if not self._catalog.adopt(use):
                self._unknown.add(use)
                raise BadValue(_not_there(use))
            self.catch_up()
            found = self._decoders[use]
        if isinstance(found, str):
            raise BadValue(found)
        return found

    def _decoder(self, use: SchemaUse, definition: SchemaDefinition) -> PayloadDecoder | str:
        """The decoder of a schema; why there is none, where it does not fit the column."""
        name = named(use.schema)
        if definition.kind != self._kind:
            return f"{name} is of the kind {definition.kind}, not {self._kind}"
        try:
            decoder = payload_decoder(definition, use.message, self._reader)
            kind = decoder.type if self.type is None else merged(self.type, decoder.type)
        except (SchemaError, TypeConflict) as error:
            return f"{name}: {error}"
        self.type = kind
        return decoder

    def _column(self, decoded: list[object], rejects: dict[int, str]) -> pa.Array:
        """The values as a column; those that do not fit it become rejects."""
        try:
            return pa.array(decoded, self.type)
        except Exception:  # noqa: BLE001 - one of them does not fit: which, is asked next
            for at, value in enumerate(decoded):
                try:
                    pa.array([value], self.type)
                except Exception as error:  # noqa: BLE001 - as above
                    rejects[at] = _reason(error)
                    decoded[at] = None
        return pa.array(decoded, self.type)


def named(key: SchemaKey) -> str:
    """A schema, for people."""
    return f"the schema of {key}" if isinstance(key, str) else f"schema {key}"


def _not_there(use: SchemaUse) -> str:
    return f"there is no {named(use.schema).removeprefix('the ')}"


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:_SHOWN_CHARS]
    if isinstance(error, BadValue) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
