"""What a poll brought as one Arrow record batch: records of several partitions, with headers.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types, with ``includeHeaders``.
"""

from collections.abc import Mapping
from typing import Any, Final

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "Arrow batches need the pyarrow package: pip install 'zkconsumer[arrow]'", name="pyarrow"
    ) from error

from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice
from zkconsumer.streams.arrow import MOST_BYTES
from zkconsumer.streams.arrow import SCHEMA as SCHEMA_OF_STREAMS
from zkconsumer.streams.arrow_columns import RecordColumns, columns_of_rows, columns_of_runs

HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
)
SCHEMA: Final = SCHEMA_OF_STREAMS.append(pa.field("headers", HEADERS))
"""That of a stream's batches, and the headers; null where a record has none."""

RecordBatch = pa.RecordBatch
Slices = Mapping[TopicPartition, RecordSlice]


def that_fit(slices: Slices) -> tuple[Slices, Slices]:
    """Those whose data one batch can hold, the first of all among them; and the others."""
    fit: dict[TopicPartition, RecordSlice] = {}
    left: dict[TopicPartition, RecordSlice] = {}
    room = MOST_BYTES
    for tp, one in slices.items():
        room -= one.size_bytes
        (fit if room >= 0 or not fit else left)[tp] = one
    return fit, left


def batch_of(slices: Slices) -> pa.RecordBatch:
    """All their records, those of a partition together; without any a batch of no rows.

    Raises:
        OverflowError: the first one alone has more data than an int32 can count.
    """
    parts = [part for tp, one in slices.items() for part in _parts_of(tp, one)]
    if not parts:
        return pa.RecordBatch.from_pylist([], schema=SCHEMA)
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _parts_of(tp: TopicPartition, one: RecordSlice) -> list[pa.RecordBatch]:
    """A slice, in as many batches as it has kinds of stretches: runs, and lists of rows."""
    found: list[pa.RecordBatch] = []
    headers = one.headers()
    begin = 0
    for columns in _columns_of(one.parts()):
        end = begin + len(columns)
        names = None if not headers else [headers.get(index) for index in range(begin, end)]
        found.append(_batch(columns, tp, names))
        begin = end
    return found


def _columns_of(parts: Any) -> list[RecordColumns]:
    """Any: rows, runs, or both, which are told apart here only."""
    found: list[RecordColumns] = []
    rows: list[Any] = []
    runs: list[Any] = []

    def flush() -> None:
        if rows:
            found.append(columns_of_rows(rows))
            rows.clear()
        if runs:
            found.append(columns_of_runs(runs))
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


def _batch(columns: RecordColumns, tp: TopicPartition, headers: Any) -> pa.RecordBatch:
    count = len(columns)
    arrays = [
        columns.keys,
        columns.values,
        pa.repeat(pa.scalar(tp.topic, pa.string()), count),
        pa.repeat(pa.scalar(tp.partition, pa.int32()), count),
        columns.offsets,
        columns.timestamps,
        columns.timestamp_types,
        pa.nulls(count, HEADERS) if headers is None else _headers(headers),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _headers(headers: list[Any]) -> pa.Array:
    """Of every record; None where it has none."""
    plain = [
        None if one is None else [{"key": name, "value": value} for name, value in one]
        for one in headers
    ]
    return pa.array(plain, HEADERS)
