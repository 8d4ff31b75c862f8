"""What a poll brought as one Arrow record batch: records of several partitions, with headers.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types, with ``includeHeaders``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
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
from zkconsumer.streams.arrow import MOST_BYTES, column_of
from zkconsumer.streams.arrow import SCHEMA as SCHEMA_OF_STREAMS
from zkconsumer.streams.arrow_capsule import capsule_of, chosen
from zkconsumer.streams.arrow_columns import RecordColumns, columns_of_rows, columns_of_runs

HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
)
SCHEMA: Final = SCHEMA_OF_STREAMS.append(pa.field("headers", HEADERS))
"""That of a stream's batches, and the headers; null where a record has none."""

RecordBatch = pa.RecordBatch
Schema = pa.Schema
Slices = Mapping[TopicPartition, RecordSlice]


def schema_of(columns: object) -> pa.Schema:
    """The schema of these columns, in their order; None: of all.

    Raises:
        IllegalArgumentError: there is none of that name, or it is named twice; or none is named.
    """
    try:
        return chosen(SCHEMA, columns)
    except ValueError as error:
        raise IllegalArgumentError(str(error)) from None


def capsule(
    read: Callable[[pa.Schema], Iterator[pa.RecordBatch]], requested_schema: object
) -> object:
    """What ``__arrow_c_stream__`` gives, see ``capsule_of``."""
    return capsule_of(SCHEMA, read, requested_schema)


def that_fit(slices: Slices) -> tuple[Slices, Slices]:
    """Those whose data one batch can hold, the first of all among them; and the others."""
    fit: dict[TopicPartition, RecordSlice] = {}
    left: dict[TopicPartition, RecordSlice] = {}
    room = MOST_BYTES
    for tp, one in slices.items():
        room -= one.size_bytes
        (fit if room >= 0 or not fit else left)[tp] = one
    return fit, left


def batch_of(slices: Slices, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """All their records, those of a partition together; without any a batch of no rows.

    Args:
        slices: by partition.
        schema: of the columns to make, see ``schema_of``.

    Raises:
        OverflowError: the first one alone has more data than an int32 can count.
    """
    parts = [part for tp, one in slices.items() for part in _parts_of(tp, one, schema)]
    if not parts:
        return pa.RecordBatch.from_pylist([], schema=schema)
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _parts_of(tp: TopicPartition, one: RecordSlice, schema: pa.Schema) -> list[pa.RecordBatch]:
    """A slice, in as many batches as it has kinds of stretches: runs, and lists of rows."""
    found: list[pa.RecordBatch] = []
    headers = one.headers() if "headers" in schema.names else None
    begin = 0
    for columns in _columns_of(one.parts(), schema.names):
        end = begin + len(columns)
        names = None if not headers else [headers.get(index) for index in range(begin, end)]
        found.append(_batch(columns, tp, names, schema))
        begin = end
    return found


def _columns_of(parts: Any, wanted: Collection[str]) -> list[RecordColumns]:
    """Any: rows, runs, or both, which are told apart here only."""
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


def _batch(
    columns: RecordColumns, tp: TopicPartition, headers: Any, schema: pa.Schema
) -> pa.RecordBatch:
    def array(name: str) -> pa.Array:
        if name != "headers":
            return column_of(name, columns, tp)
        return pa.nulls(len(columns), HEADERS) if headers is None else _headers(headers)

    return pa.RecordBatch.from_arrays([array(name) for name in schema.names], schema=schema)


def _headers(headers: list[Any]) -> pa.Array:
    """Of every record; None where it has none."""
    plain = [
        None if one is None else [{"key": name, "value": value} for name, value in one]
        for one in headers
    ]
    return pa.array(plain, HEADERS)
