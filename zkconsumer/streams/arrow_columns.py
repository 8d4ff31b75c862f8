"""Records as Arrow columns, whatever engine found them: for streams and for Spark.

A column is filled by one copy of every key and value. What makes batches of them says which
columns there are, and of what partition.

Source: Arrow's columnar format, variable-size binary layout.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.rows import Row

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

_MOST_MILLIS = (2**63 - 1) // 1000
TIMESTAMP = pa.timestamp("us", tz="UTC")
"""Spark's timestamps, as Arrow has them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordColumns:
    """Columns of equal length, none of them null but for keys and values.

    Attributes:
        keys: binary.
        values: binary.
        offsets: int64.
        timestamps: ``TIMESTAMP``; -1 ms where the log has none.
        timestamp_types: int32, as of ``model.TimestampType``.
        timestamp_count: how many timestamps are not negative.
    """

    keys: pa.Array
    values: pa.Array
    offsets: pa.Array
    timestamps: pa.Array
    timestamp_types: pa.Array
    timestamp_count: int

    def __len__(self) -> int:
        return len(self.offsets)


def run_bytes(runs: "Sequence[_core.Run]") -> int:
    """What the larger column of data takes."""
    return max(sum(run.key_bytes for run in runs), sum(run.value_bytes for run in runs))


def row_bytes(rows: Sequence[Row]) -> int:
    """What the larger column of data takes."""
    return max(sum(len(row[1] or b"") for row in rows), sum(len(row[2] or b"") for row in rows))


def columns_of_runs(runs: "Sequence[_core.Run]") -> RecordColumns:
    """The columns of runs, in their order.

    Raises:
        OverflowError: there is more than an int32 can count.
        BufferError: somebody changed the bytes after they were checked.
    """
    count, keys, values, offsets, micros, types = _core.arrow_columns(list(runs))

    def column(kind: pa.DataType, *buffers: bytes | None) -> pa.Array:
        held = [None if one is None else pa.py_buffer(one) for one in buffers]
        return pa.Array.from_buffers(kind, count, held)

    return RecordColumns(
        keys=column(pa.binary(), *keys),
        values=column(pa.binary(), *values),
        offsets=column(pa.int64(), None, offsets),
        timestamps=column(TIMESTAMP, None, micros),
        timestamp_types=column(pa.int32(), None, types),
        timestamp_count=sum(run.timestamp_count for run in runs),
    )


def columns_of_rows(rows: Sequence[Row]) -> RecordColumns:
    """The columns of plain rows, one at least."""
    offsets, keys, values, millis, types = zip(*rows, strict=True)
    micros = [max(-_MOST_MILLIS, min(one, _MOST_MILLIS)) * 1000 for one in millis]
    return RecordColumns(
        keys=pa.array(keys, pa.binary()),
        values=pa.array(values, pa.binary()),
        offsets=pa.array(offsets, pa.int64()),
        timestamps=pa.array(micros, pa.int64()).cast(TIMESTAMP),
        timestamp_types=pa.array(list(map(int, types)), pa.int32()),
        timestamp_count=sum(one >= 0 for one in millis),
    )
