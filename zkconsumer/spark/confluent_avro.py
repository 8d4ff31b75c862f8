"""Decodes a Spark column of Avro with schema ids (``from_confluent_avro``), from Spark 3.4 on.

Spark's own ``from_avro`` expects bare Avro, and reads the five bytes of the id as part of it. If
Spark has Arrow functions (from 4.1 on), values stay in Arrow; else they become Python objects.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's programs call it

from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.schemas.decoding import ValueDecoding
from zkconsumer.schemas.definition import SchemaDefinition, SchemaSource
from zkconsumer.schemas.memory_catalog import MemoryCatalog, OneSchema
from zkconsumer.schemas.payloads import need_library
from zkconsumer.schemas.registry import RegistryClient
from zkconsumer.schemas.registry_settings import RegistrySettings
from zkconsumer.spark.compat import HAS_ARROW_UDFS
from zkconsumer.spark.decoded_types import in_spark, spark_type

_AVRO: Final = "avro"
_ONE_ID: Final = b"\0\0\0\0\1"
_MODES: Final = ("PERMISSIVE", "FAILFAST")


def from_confluent_avro(
    column: "Column | str",
    *,
    schema: str | None = None,
    registry: str | None = None,
    subject: str | None = None,
    registry_options: Mapping[str, str] | None = None,
    mode: str = "PERMISSIVE",
) -> Column:
    """Decode Avro values that are preceded by a schema id.

    Each value is read with the schema of its own id, and resolved to the column's schema by Avro's
    rules: by names, with defaults, and promotions of numbers.

    Args:
        column: a binary column: magic byte 0, four bytes of the id, Avro.
        schema: the schema of the column, as Avro's JSON; None: the latest schema of ``subject``.
        registry: the schema registry's URL, which executors connect to; None if all values were
            written with ``schema``, whatever their ids.
        subject: the subject whose latest schema is the column's, such as ``orders-value``;
            requested once, by this call.
        registry_options: options of the registry client, named as Confluent's:
            ``basic.auth.user.info``.
        mode: ``PERMISSIVE``: a value that can't be decoded becomes null; ``FAILFAST``: it ends the
            query. Before Spark 4.1, a time outside the years 1 to 9999 can't be decoded either.

    Returns:
        A column of the schema's type: a struct for a record.

    Raises:
        ConfigError: an argument is missing or wrong, or fastavro is not installed.
        SchemaError: the schema can't be fetched, or can't be the type of a column.

    Thread: any.

    Source: Spark's ``from_avro`` for the modes; Confluent's wire format.
    """
    need_library(_AVRO)
    if mode.upper() not in _MODES:
        raise ConfigError(f"mode is {mode!r}: it must be {' or '.join(_MODES)}")
    if (schema is None) == (subject is None):
        raise ConfigError("give schema, or subject and registry: one of them says the type")
    decoder = _ColumnDecoder(
        reader=_reader(schema, subject, registry, registry_options),
        registry=registry,
        options=dict(registry_options or {}),
        is_strict=mode.upper() == "FAILFAST",
    )
    return _decoded(decoder, column)


def _decoded(decoder: "_ColumnDecoder", column: "Column | str") -> Column:
    """Return the decoded column: by Arrow arrays if Spark supports it, else value by value."""
    kind = decoder.decode([]).type  # first: a wrong schema is refused without a session
    wanted = F.col(column) if isinstance(column, str) else column
    if HAS_ARROW_UDFS:
        from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined] # noqa: PLC0415

        def decoded(values: pa.Array) -> pa.Array:
            return decoder.decode(values.to_pylist())

        made: Column = arrow_udf(decoded, spark_type(kind))(wanted)
        return made

    def decoded_one(value: "bytes | bytearray | None") -> Any:
        return decoder.decode_one(None if value is None else bytes(value))

    # Spark would derive from type hints how to call the function.
    decoded_one.__annotations__.clear()
    return F.udf(decoded_one, spark_type(kind))(wanted)


def _reader(
    schema: str | None,
    subject: str | None,
    registry: str | None,
    options: Mapping[str, str] | None,
) -> SchemaDefinition:
    if schema is not None:
        return SchemaDefinition(kind=_AVRO, text=schema)
    if registry is None:
        raise ConfigError("subject needs registry: the schema registry's URL")
    found = RegistryClient(RegistrySettings.of(registry, options), _AVRO).find(subject or "")
    if found is None:
        raise SchemaError(f"the schema registry has no subject {subject}")
    if found.kind != _AVRO:
        raise SchemaError(f"the schema of {subject} is of the kind {found.kind}, not {_AVRO}")
    return found


@dataclass(frozen=True, kw_only=True)
class _ColumnDecoder:
    """Decodes a column; it is sent to executors without its cached schemas."""

    reader: SchemaDefinition
    registry: str | None
    options: Mapping[str, str] = field(repr=False)
    is_strict: bool

    def decode(self, values: list[bytes | None]) -> pa.Array:
        """Return the values as an array of the reader's type."""
        with self._decoding() as decoding:
            found = decoding.decode(self._framed(values))
        if found.rejects and self.is_strict:
            at, reason = min(found.rejects.items())
            raise SchemaError(f"a value of {len(values[at] or b'')} bytes: {reason}")
        column: pa.Array = found.column
        kind = in_spark(column.type)
        return column if column.type.equals(kind) else column.cast(kind)

    def decode_one(self, value: bytes | None) -> Any:
        """Decode one value, for a Python function of Spark; None if Python can't represent it."""
        column = self.decode([value])
        try:
            return _python(column.to_pylist()[0], column.type)
        except (OverflowError, ValueError) as error:
            if self.is_strict:
                raise SchemaError(f"a value of {len(value or b'')} bytes: {error}") from None
            return None

    def _framed(self, values: list[bytes | None]) -> list[bytes | None]:
        """Give values the same id if all have one schema, so that one decoder suffices."""
        if self.registry is not None:
            return values
        return [
            _ONE_ID + value[len(_ONE_ID) :]
            if value is not None and value[:1] == _ONE_ID[:1] and len(value) >= len(_ONE_ID)
            else value
            for value in values
        ]

    @contextmanager
    def _decoding(self) -> Iterator[ValueDecoding]:
        """Lend a decoder that no other thread uses, since it may wait for a schema; keep it."""
        key = (self.reader, self.registry, tuple(sorted(self.options.items())))
        with _lock:
            idle = _idle.get(key)
            taken = idle.pop() if idle else None
        decoding = taken or self._new_decoding()
        try:
            yield decoding
        finally:
            with _lock:
                if key not in _idle and len(_idle) >= _MOST_COLUMNS:
                    _idle.clear()
                _idle.setdefault(key, []).append(decoding)

    def _new_decoding(self) -> ValueDecoding:
        source: SchemaSource = OneSchema(self.reader)
        if self.registry is not None:
            source = RegistryClient(RegistrySettings.of(self.registry, self.options), _AVRO)
        return ValueDecoding(_AVRO, MemoryCatalog(source), reader=self.reader)


_MOST_COLUMNS: Final = 100
_idle: Final[dict[Any, list[ValueDecoding]]] = {}
"""The unused decoders of each column, with the schemas they have met; each serves one thread."""
_lock: Final = threading.Lock()


def _python(value: Any, kind: pa.DataType) -> Any:
    """Convert a value to what a Python function of Spark returns: maps become dictionaries."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _python(value[field.name], field.type) for field in kind}
    if pa.types.is_list(kind):
        return [_python(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return {key: _python(item, kind.item_type) for key, item in value}
    return value
