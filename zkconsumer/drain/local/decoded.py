"""Splits rows into decoded rows and dead letters, which can't be decoded."""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.local.columns import SCHEMA, WITH_HEADERS
from zkconsumer.drain.local.formats import PREFIX
from zkconsumer.schemas.decoding import DecodedValues, SchemaCatalog, ValueDecoding
from zkconsumer.schemas.definition import SchemaSource
from zkconsumer.schemas.folder import SchemaFolder
from zkconsumer.schemas.payloads import need_library
from zkconsumer.schemas.registry import RegistryClient
from zkconsumer.schemas.registry_settings import RegistrySettings
from zkconsumer.schemas.remembered import RememberedSchemas
from zkconsumer.schemas.wire_format import VALUE_HEADER, BadValue, framed

DECODED: Final = "value_decoded"
_ID_FIELDS: Final = (("schema_id", pa.int32()), ("schema_guid", pa.string()))
DEAD: Final = pa.schema([*WITH_HEADERS, *_ID_FIELDS, ("reason", pa.string())])
"""The columns of dead letters."""
_SLICE_ROWS: Final = 4_096
_SLICE_BYTES: Final = 1 << 20


class SplitRows(NamedTuple):
    """Rows, split by whether they could be decoded.

    Attributes:
        landed: rows with the columns of ``SCHEMA`` and the added ones.
        dead: rows with the unchanged columns of ``SCHEMA``, and headers, schema and reason.
    """

    landed: pa.RecordBatch
    dead: pa.RecordBatch


class RowDecoder:
    """Decodes rows. Thread: any; only one decodes at a time.

    Args:
        decoding: decodes the values; None to find only the names of their schemas.
    """

    def __init__(self, settings: DecodeSettings, decoding: ValueDecoding | None) -> None:
        self._is_stripped = settings.schema_id == "strip"
        self._decoding = decoding
        self._lock = threading.Lock()

    def columns(self) -> pa.Schema:
        """Return the columns of landed rows, with all schemas found so far."""
        with self._lock:
            if self._decoding is not None:
                self._decoding.catch_up()
            return self._columns()

    def decode(self, rows: pa.RecordBatch) -> Iterator[SplitRows]:
        """Decode rows, a bounded number at a time.

        Args:
            rows: rows with the columns of ``SCHEMA``, then ``headers``.

        Raises:
            SchemaError: a schema can't be fetched now.
        """
        a_row = rows.column("value").nbytes // max(len(rows), 1) + 1
        count = max(1, min(_SLICE_ROWS, _SLICE_BYTES // a_row))
        for start in range(0, len(rows), count):
            with self._lock:
                decoded = self._decoded(rows.slice(start, count))
            yield decoded

    def _decoded(self, rows: pa.RecordBatch) -> SplitRows:
        values = rows.column("value").to_pylist()
        headers = _value_headers(rows.column("headers"))
        if self._decoding is None:
            found = _decoded_values(values, headers)
        else:
            found = self._decoding.decode(values, headers)
        bare = rows.select(SCHEMA.names)
        ids = _id_columns(found)
        columns = [*bare.columns, *ids]
        if self._is_stripped:
            payloads, prefixes = _parted(values, found.payload_starts)
            columns[SCHEMA.get_field_index("value")] = payloads
            columns.append(prefixes)
        if found.column is not None:
            columns.append(found.column)
        landed = pa.RecordBatch.from_arrays(columns, schema=self._columns())
        if not found.rejects:
            return SplitRows(landed, _NONE)
        reasons = pa.array([found.rejects.get(at) for at in range(len(rows))], pa.string())
        dead = pa.RecordBatch.from_arrays(
            [*bare.columns, rows.column("headers"), *ids, reasons], schema=DEAD
        )
        is_dead = pc.is_valid(reasons)
        return SplitRows(landed.filter(pc.invert(is_dead)), dead.filter(is_dead))

    def _columns(self) -> pa.Schema:
        fields = [*SCHEMA, *_ID_FIELDS]
        if self._is_stripped:
            fields.append((PREFIX, pa.binary()))
        if self._decoding is not None and self._decoding.type is not None:
            fields.append((DECODED, self._decoding.type))
        return pa.schema(fields)


def row_decoder(
    settings: DecodeSettings,
    topic: str,
    catalog: Callable[[SchemaSource], SchemaCatalog],
    source: SchemaSource | None = None,
) -> RowDecoder:
    """Create the decoder of a drain's rows.

    Args:
        settings: the drain's settings.
        topic: the topic of the values.
        catalog: creates the catalog from a source of schemas; not called if ids are only
            recognised.
        source: finds schemas; None: the registry or folder of the settings.

    Raises:
        ConfigError: a library is not installed, or files of the settings can't be used.
        ZkConsumerError: the catalog can't be read.
    """
    if settings.format is None:
        return RowDecoder(settings, None)
    need_library(settings.format)
    subject = f"{topic}-value"
    made = catalog(source or _source(settings, settings.format, subject))
    decoding = ValueDecoding(settings.format, made, subject if settings.bare else None)
    return RowDecoder(settings, decoding)


def _source(settings: DecodeSettings, kind: str, subject: str) -> SchemaSource:
    if settings.registry is None:
        return SchemaFolder(settings.schemas or "", kind, subject)
    reached = RegistrySettings.of(settings.registry, settings.registry_options)
    return RememberedSchemas(RegistryClient(reached, kind))


_NONE: Final = pa.RecordBatch.from_pylist([], DEAD)


def _value_headers(column: pa.Array) -> dict[int, bytes]:
    """Return the last header of each row that names a schema, as Kafka's ``lastHeader`` does."""
    if column.null_count == len(column):
        return {}
    found: dict[int, bytes] = {}
    for at, headers in enumerate(column.to_pylist()):
        for header in headers or ():
            if header["key"] == VALUE_HEADER and header["value"] is not None:
                found[at] = header["value"]
    return found


def _decoded_values(values: list[bytes | None], headers: Mapping[int, bytes]) -> DecodedValues:
    """Find the schema names of values; a value without a name stays as it is."""
    found = DecodedValues(schemas=[None] * len(values), payload_starts=[0] * len(values))
    for at, value in enumerate(values):
        if value is None:
            continue
        try:
            parts = framed(value, headers.get(at), has_indexes=False)
        except BadValue:
            continue
        found.schemas[at], found.payload_starts[at] = parts.schema, parts.payload_start
    return found


def _id_columns(found: DecodedValues) -> list[pa.Array]:
    ids = [key if isinstance(key, int) else None for key in found.schemas]
    guids = [str(key) if isinstance(key, UUID) else None for key in found.schemas]
    return [pa.array(ids, pa.int32()), pa.array(guids, pa.string())]


def _parted(values: list[bytes | None], starts: list[int]) -> tuple[pa.Array, pa.Array]:
    """Return the payloads of values, and the prefixes before them."""
    payloads = [
        None if value is None else value[start:]
        for value, start in zip(values, starts, strict=True)
    ]
    prefixes = [
        value[:start] if value is not None and start else None
        for value, start in zip(values, starts, strict=True)
    ]
    return pa.array(payloads, pa.binary()), pa.array(prefixes, pa.binary())
