"""The records of a poll as one Arrow record batch: several partitions, with headers.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types, with ``includeHeaders``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "Arrow batches need the pyarrow package: pip install 'zkconsumer[arrow]'", name="pyarrow"
    ) from error

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice
from zkconsumer.streams.arrow import MOST_BYTES
from zkconsumer.streams.arrow import SCHEMA as SCHEMA_OF_STREAMS
from zkconsumer.streams.arrow_capsule import capsule_of, chosen
from zkconsumer.streams.arrow_columns import (
    RecordColumns,
    columns_of_rows,
    columns_of_runs,
    no_rows,
    repeated_int32,
    repeated_text,
)

HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
)
SCHEMA: Final = SCHEMA_OF_STREAMS.append(pa.field("headers", HEADERS))
"""The schema of a stream's batches, plus headers; null for records without any."""

RecordBatch = pa.RecordBatch
Schema = pa.Schema
Slices = Mapping[TopicPartition, RecordSlice]
Pieces = Sequence[tuple[TopicPartition, RecordSlice]]


def schema_of(columns: object) -> pa.Schema:
    """Return the schema of these columns, in their order; None: all.

    Raises:
        IllegalArgumentError: a name is unknown or repeated, or there is none.
    """
    try:
        return chosen(SCHEMA, columns)
    except ValueError as error:
        raise IllegalArgumentError(str(error)) from None


def capsule(
    read: Callable[[pa.Schema], Iterator[pa.RecordBatch]], requested_schema: object
) -> object:
    """Make the capsule that ``__arrow_c_stream__`` returns, see ``capsule_of``."""
    return capsule_of(SCHEMA, read, requested_schema)


def that_fit(slices: Slices) -> tuple[Slices, Slices]:
    """Split off the slices that fit into one batch, always the first; return both parts."""
    fit: dict[TopicPartition, RecordSlice] = {}
    left: dict[TopicPartition, RecordSlice] = {}
    free_bytes = MOST_BYTES
    for tp, part in slices.items():
        free_bytes -= part.size_bytes
        (fit if free_bytes >= 0 or not fit else left)[tp] = part
    return fit, left


def batch_of(slices: Slices, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Make one batch of all records, those of a partition together; maybe without rows.

    Args:
        slices: by partition.
        schema: the schema of the columns to make, see ``schema_of``.

    Raises:
        OverflowError: the first slice alone has more data than an int32 can count.
    """
    pieces = list(slices.items())
    columns_by_part = _columns_of(
        [part for _, piece in pieces for part in piece.parts()], schema.names
    )
    if not columns_by_part:
        return no_rows(schema)
    # One column each for all partitions: the parts' columns are copied once.
    whole = {name: make(pieces) for name, make in _OF_PARTITIONS.items() if name in schema.names}
    batches: list[pa.RecordBatch] = []
    begin = 0
    for columns in columns_by_part:
        arrays = [
            whole[name].slice(begin, len(columns)) if name in whole else columns.column(name)
            for name in schema.names
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        begin += len(columns)
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _columns_of(parts: Any, wanted: Collection[str]) -> list[RecordColumns]:
    """Make columns of rows, runs, or both; Any, as they are distinguished only here."""
    found: list[RecordColumns] = []
    rows: list[Any] = []
    runs: list[Any] = []

    def flush() -> None:
        if rows:
            found.append(columns_of_rows(rows, wanted))
            rows.clear()
        if runs:
            found.append(columns_of_runs(runs, wanted))
            runs.clear()

    for part in parts:
        if isinstance(part, tuple):
            if runs:
                flush()
            rows.append(part)
        elif isinstance(part, list):
            if runs:
                flush()
            rows.extend(part)
        else:
            if rows:
                flush()
            runs.append(part)
    flush()
    return found


def _topics(pieces: Pieces) -> pa.Array:
    return pa.concat_arrays([repeated_text(tp.topic, len(piece)) for tp, piece in pieces])


def _partitions(pieces: Pieces) -> pa.Array:
    return pa.concat_arrays([repeated_int32(tp.partition, len(piece)) for tp, piece in pieces])


def _headers(pieces: Pieces) -> pa.Array:
    """Make the column of headers; null for records without any."""
    plain: list[Any] = [None] * sum(len(piece) for _, piece in pieces)
    begin, has_any = 0, False
    for _, piece in pieces:
        for index, found in piece.headers().items():
            has_any = True
            plain[begin + index] = [{"key": name, "value": value} for name, value in found]
        begin += len(piece)
    return pa.array(plain, HEADERS) if has_any else pa.nulls(len(plain), HEADERS)


_OF_PARTITIONS: Final = {"topic": _topics, "partition": _partitions, "headers": _headers}
"""The functions that make the columns that do not depend on the form of the records."""
