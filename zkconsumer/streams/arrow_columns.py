"""Records of either engine as Arrow columns: for streams, polls and Spark.

A column is filled by one copy of every key and value; columns that are not wanted are not made. The
callers make batches of them, and add the partition's columns.

Source: Arrow's columnar format, variable-size binary layout.
"""

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.rows import Row

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

_MOST_MILLIS = (2**63 - 1) // 1000
TIMESTAMP = pa.timestamp("us", tz="UTC")
"""Spark's timestamp type in Arrow."""
OF_RECORDS: Final = frozenset({"key", "value", "offset", "timestamp", "timestampType"})
"""The columns made here, by the names of Spark's Kafka source."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordColumns:
    """Columns of equal length; only keys and values may hold nulls.

    A column that was not wanted is None.

    Attributes:
        count: the length of each column.
        keys: binary.
        values: binary.
        offsets: int64.
        timestamps: ``TIMESTAMP``; -1 ms where the log has none.
        timestamp_types: int32, as of ``model.TimestampType``.
        timestamp_count: the number of timestamps that are not negative.
    """

    count: int
    keys: pa.Array
    values: pa.Array
    offsets: pa.Array
    timestamps: pa.Array
    timestamp_types: pa.Array
    timestamp_count: int

    def __len__(self) -> int:
        return self.count

    def column(self, name: str) -> pa.Array:
        """Return the column of a name in ``OF_RECORDS``."""
        match name:
            case "key":
                return self.keys
            case "value":
                return self.values
            case "offset":
                return self.offsets
            case "timestamp":
                return self.timestamps
            case _:
                return self.timestamp_types


def run_bytes(runs: "Sequence[_core.Run]") -> int:
    """Return the size of the keys or the values, whichever is larger."""
    return max(sum(run.key_bytes for run in runs), sum(run.value_bytes for run in runs))


def row_bytes(rows: Sequence[Row]) -> int:
    """Return the size of the keys or the values, whichever is larger."""
    return max(sum(len(row[1] or b"") for row in rows), sum(len(row[2] or b"") for row in rows))


def repeated_text(text: str, count: int) -> pa.Array:
    """Make a column of so many times the same string.

    ``pyarrow.scalar`` would import pandas wherever that is installed: a third of a second, before
    the first record.
    """
    data = text.encode()
    return _repeated(pa.string(), [None, struct.pack("=ii", 0, len(data)), data], count)


def repeated_int32(number: int, count: int) -> pa.Array:
    """Make a column of so many times the same number, without pandas as well."""
    return _repeated(pa.int32(), [None, struct.pack("=i", number)], count)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch without rows, without pandas as well."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def columns_of_runs(
    runs: "Sequence[_core.Run]", wanted: Collection[str] = OF_RECORDS
) -> RecordColumns:
    """Make the columns of runs, in their order.

    Args:
        runs: the runs of records.
        wanted: the names of the columns to make; unknown names are ignored.

    Raises:
        OverflowError: the data is larger than an int32 can count.
        BufferError: the bytes were changed after they were checked.
    """
    count, keys, values, offsets, micros, types = _core.arrow_columns(
        list(runs),
        keys="key" in wanted,
        values="value" in wanted,
        offsets="offset" in wanted,
        timestamps="timestamp" in wanted,
        timestamp_types="timestampType" in wanted,
    )

    def numbers(kind: pa.DataType, made: bytes | None) -> pa.Array:
        return None if made is None else column(kind, (None, made))

    def column(kind: pa.DataType, buffers: Sequence[bytes | None] | None) -> pa.Array:
        return None if buffers is None else _array(kind, count, buffers)

    return RecordColumns(
        count=count,
        keys=column(pa.binary(), keys),
        values=column(pa.binary(), values),
        offsets=numbers(pa.int64(), offsets),
        timestamps=numbers(TIMESTAMP, micros),
        timestamp_types=numbers(pa.int32(), types),
        timestamp_count=sum(run.timestamp_count for run in runs),
    )


def columns_of_rows(rows: Sequence[Row], wanted: Collection[str] = OF_RECORDS) -> RecordColumns:
    """Make the columns of one or more rows; ``wanted`` as in ``columns_of_runs``."""
    offsets, keys, values, millis, types = zip(*rows, strict=True)

    def column(name: str, data: Sequence[object], kind: pa.DataType) -> pa.Array:
        return pa.array(data, kind) if name in wanted else None

    micros = None
    if "timestamp" in wanted:
        bounded = [max(-_MOST_MILLIS, min(time_ms, _MOST_MILLIS)) * 1000 for time_ms in millis]
        micros = pa.array(bounded, pa.int64()).cast(TIMESTAMP)
    return RecordColumns(
        count=len(rows),
        keys=column("key", keys, pa.binary()),
        values=column("value", values, pa.binary()),
        offsets=column("offset", offsets, pa.int64()),
        timestamps=micros,
        timestamp_types=column("timestampType", types, pa.int32()),
        timestamp_count=sum(time_ms >= 0 for time_ms in millis),
    )


def _repeated(kind: pa.DataType, buffers: Sequence[bytes | None], count: int) -> pa.Array:
    return pa.repeat(_array(kind, 1, buffers)[0], count)


def _array(kind: pa.DataType, count: int, buffers: Sequence[bytes | None]) -> pa.Array:
    arrow_buffers = [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers]
    return pa.Array.from_buffers(kind, count, arrow_buffers)
