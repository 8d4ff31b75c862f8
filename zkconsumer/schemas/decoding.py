"""Decodes values, each by itself, to one typed Arrow column and a list of rejects.

The column's type grows with the schemas of the values, in the catalog's order, so that the same
values and the same catalog produce the same rows and rejects. A schema joins the column only once
it has decoded a value, since producers can write any id.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import pyarrow as pa

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.printable import printable
from zkconsumer.schemas.column_types import TypeConflict, merged
from zkconsumer.schemas.definition import (
    AbsentReference,
    SchemaDefinition,
    SchemaSource,
    UnusableSchema,
)
from zkconsumer.schemas.payloads import PayloadDecoder, payload_decoder
from zkconsumer.schemas.recent import Recent
from zkconsumer.schemas.remembered import ABSENT_MS
from zkconsumer.schemas.wire_format import BadValue, FramedValue, SchemaKey, framed

MAX_SCHEMAS: Final = 1_000
"""The maximum number of schemas in a catalog; each Protobuf message type counts as one."""
_SHOWN_CHARS: Final = 300


class _Candidate(NamedTuple):
    """A schema that has not decoded a value yet.

    Attributes:
        decoder: its decoder, or the reason why there is none.
        definition: its definition; None without a decoder.
    """

    decoder: PayloadDecoder | str
    definition: SchemaDefinition | None = None


class SchemaUse(NamedTuple):
    """A schema, and the message type within it.

    Attributes:
        schema: the key of the schema.
        message: for Protobuf, the indexes that lead to the message; else empty.
    """

    schema: SchemaKey
    message: tuple[int, ...] = ()


class AdoptedSchema(NamedTuple):
    """A schema that the type of a column includes."""

    use: SchemaUse
    definition: SchemaDefinition


class SchemaCatalog(SchemaSource, Protocol):
    """The adopted schemas of a column, in order, and a source of others."""

    def adopted(self) -> Sequence[AdoptedSchema]:
        """Return all adopted schemas; later ones are appended."""
        ...

    def adopt(self, new: AdoptedSchema) -> None:
        """Add a schema, unless it is adopted already or the limit is reached; see ``adopted``.

        Raises:
            ZkConsumerError: the schema can't be stored.
        """
        ...


@dataclass(slots=True, kw_only=True)
class DecodedValues:
    """The results of decoding; all lists have the length of the values.

    Attributes:
        column: the decoded values, null for null and for rejects; None if no schema is known.
        schemas: the key of each value's schema; None if it is unknown or absent.
        payload_starts: the number of bytes before each value's payload.
        rejects: the reasons why values could not be decoded, by index.
    """

    column: pa.Array | None = None
    schemas: list[SchemaKey | None] = field(default_factory=list)
    payload_starts: list[int] = field(default_factory=list)
    rejects: dict[int, str] = field(default_factory=dict)


class ValueDecoding:
    """Decodes the values of one column. Thread: one at a time.

    Args:
        kind: the kind of the schemas: ``avro``, ``json`` or ``protobuf``.
        subject: the subject whose latest schema applies to values that are bare payloads; None:
            values have schema ids.
        reader: an Avro schema that values are resolved to, which then determines the column's type;
            None: the type grows.
        clock: the time source that decides when absent schemas are requested again.

    Raises:
        SchemaError: the reader's schema can't be a column.
    """

    def __init__(
        self,
        kind: str,
        catalog: SchemaCatalog,
        subject: str | None = None,
        reader: SchemaDefinition | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._reader = reader
        self._has_indexes = kind == "protobuf"
        self._kind = kind
        self._catalog = catalog
        self._subject = subject
        self._known = 0
        self._decoders: dict[SchemaUse, PayloadDecoder | str] = {}
        self._candidates: Recent[SchemaUse, _Candidate] = Recent(clock or SystemClock())
        self.type: pa.DataType | None = None
        if reader is not None:
            self.type = payload_decoder(reader, ()).type
        self.catch_up()

    def catch_up(self) -> None:
        """Load the schemas that were added to the catalog since the last call."""
        adopted = self._catalog.adopted()
        for use, definition in adopted[self._known :]:
            self._decoders[use] = self._decoder(use, definition)
        self._known = len(adopted)

    def decode(
        self, values: Sequence[bytes | None], headers: Mapping[int, bytes] | None = None
    ) -> DecodedValues:
        """Decode values.

        Args:
            values: whole values; null stays null.
            headers: the content of the headers named ``VALUE_HEADER``, by the index of the value.

        Raises:
            ConfigError: values are bare payloads, and their subject has no usable schema.
            SchemaError: a schema can't be fetched now, so whether its values are bad is unknown.
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
                payload = value[parts.payload_start :]
                decoded[at] = self._decoded(SchemaUse(parts.schema, parts.message), payload)
            except BadValue as error:
                found.rejects[at] = _reason(error)
        if self.type is not None:
            found.column = self._column(decoded, found.rejects)
        return found

    def _framed(self, value: bytes, header: bytes | None) -> FramedValue:
        if self._subject is not None:
            return FramedValue(self._subject, (), 0)
        return framed(value, header, has_indexes=self._has_indexes)

    def _decoded(self, use: SchemaUse, payload: bytes) -> object:
        """Decode the payload of one value.

        Raises:
            BadValue: it can't be decoded.
        """
        decoder = self._decoders.get(use)
        if decoder is None:
            decoder = self._met(use, payload)
        if isinstance(decoder, str):
            raise BadValue(decoder)
        return _decoded(decoder, payload)

    def _met(self, use: SchemaUse, payload: bytes) -> PayloadDecoder | str:
        """Return the decoder of a schema that is not adopted; adopt it if it decodes this value."""
        candidate = self._candidates.get(use)
        if candidate is None:
            # Another process may have adopted the schema.
            self.catch_up()
            if use in self._decoders:
                return self._decoders[use]
            candidate = self._candidate(use)
        decoder, definition = candidate
        if isinstance(decoder, str) or definition is None:
            return str(decoder)
        _check(decoder, payload)
        self._catalog.adopt(AdoptedSchema(use, definition))
        self.catch_up()
        too_many = f"{named(use.schema)} is not adopted: the column has too many schemas already"
        return self._decoders.get(use, too_many)

    def _candidate(self, use: SchemaUse) -> _Candidate:
        found, may_come = self._looked_up(use)
        if self._subject is not None and isinstance(found.decoder, str):
            raise ConfigError(f"--bare-values: {found.decoder}")
        size = 0 if found.definition is None else found.definition.chars
        self._candidates.put(use, found, size, ABSENT_MS if may_come else None)
        return found

    def _looked_up(self, use: SchemaUse) -> tuple[_Candidate, bool]:
        """Return a fetched schema, or why there is none, and whether it may still appear."""
        try:
            definition = self._catalog.find(use.schema)
        except UnusableSchema as error:
            reason = f"{named(use.schema)}: {_reason(error)}"
            return _Candidate(reason), isinstance(error, AbsentReference)
        if definition is None:
            return _Candidate(_not_there(use.schema)), True
        made = self._made(use, definition)
        return _Candidate(made, None if isinstance(made, str) else definition), False

    def _decoder(self, use: SchemaUse, definition: SchemaDefinition) -> PayloadDecoder | str:
        """Return the decoder of an adopted schema, or why the schema does not fit the column."""
        made = self._made(use, definition)
        if isinstance(made, str):
            return made
        try:
            self.type = made.type if self.type is None else merged(self.type, made.type)
        except Exception as error:  # noqa: BLE001 - such a schema harms only its own values
            return f"{named(use.schema)}: {_reason(error)}"
        return made

    def _made(self, use: SchemaUse, definition: SchemaDefinition) -> PayloadDecoder | str:
        """Return the decoder of a schema, or why the schema can't be used."""
        name = named(use.schema)
        if definition.kind != self._kind:
            return f"{name} is of kind {definition.kind}, not {self._kind}"
        try:
            return payload_decoder(definition, use.message, self._reader)
        except Exception as error:  # noqa: BLE001 - libraries raise anything for a bad schema
            return f"{name}: {_reason(error)}"

    def _column(self, decoded: list[object], rejects: dict[int, str]) -> pa.Array:
        """Return the values as a column; values that do not fit its type become rejects."""
        try:
            return pa.array(decoded, self.type)
        except Exception:  # noqa: BLE001 - a value does not fit: the loop finds out which
            for at, value in enumerate(decoded):
                try:
                    pa.array([value], self.type)
                except Exception as error:  # noqa: BLE001 - as above
                    rejects[at] = _reason(error)
                    decoded[at] = None
        return pa.array(decoded, self.type)


def named(key: SchemaKey) -> str:
    """Return the name of a schema, for messages."""
    return f"the schema of {key}" if isinstance(key, str) else f"schema {key}"


def _not_there(key: SchemaKey) -> str:
    return f"there is no {named(key).removeprefix('the ')}"


def _decoded(decoder: PayloadDecoder, payload: bytes) -> object:
    try:
        return decoder.decode(payload)
    except Exception as error:
        raise BadValue(_reason(error)) from error


def _check(decoder: PayloadDecoder, payload: bytes) -> None:
    """Check that a decoder can decode a payload to a column of its type.

    Raises:
        BadValue: it can't.
    """
    value = _decoded(decoder, payload)
    try:
        pa.array([value], decoder.type)
    except Exception as error:
        raise BadValue(_reason(error)) from error


def _reason(error: Exception) -> str:
    """Return why a value is bad, as printable text: libraries quote bytes of the value."""
    text = printable(" ".join(str(error).split())[:_SHOWN_CHARS])[:_SHOWN_CHARS]
    if isinstance(error, BadValue | SchemaError | TypeConflict) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
