"""Defines the columns of a landing's files, and the hashes of their rows."""

from typing import Final

import pyarrow as pa

from zkconsumer.drain.local.xxhash64 import row_hash
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.arrow_columns import TIMESTAMP

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestampType", pa.int32()),
    ]
)
"""The columns of a file, in the order of Spark's; topic and date are in its path."""
HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
WITH_HEADERS: Final = SCHEMA.append(pa.field("headers", HEADERS))
_NO_TIME = -1


def row_hashes(rows: pa.RecordBatch, *, with_time: bool = True) -> pa.Array:
    """Return each row's hash, an int64; a checksum is their sum.

    Args:
        rows: rows with the columns of ``SCHEMA``, in any order.
        with_time: whether the timestamp is hashed; otherwise it counts as null.
    """
    if ENGINE is not Engine.NATIVE:
        return _pure_hashes(rows, with_time=with_time)
    columns = [rows.column(name) for name in ("offset", "key", "value", "timestamp")]
    types = rows.column("timestampType")
    if {column.offset for column in (*columns, types)} != {columns[0].offset}:
        rows = rows.take(pa.array(range(len(rows)), pa.int64()))
        return row_hashes(rows, with_time=with_time)
    offsets, keys, values, times = (
        [_view(buffer) for buffer in column.buffers()] for column in columns
    )
    hashes = _core.hash_rows(
        columns[0].offset,
        len(rows),
        offsets[1] or memoryview(b""),
        (keys[0], keys[1], keys[2]),
        (values[0], values[1], values[2]),
        (times[0], times[1] or memoryview(b"")) if with_time else None,
        _view(types.buffers()[1]) or memoryview(b""),
    )
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(hashes)])


def _pure_hashes(rows: pa.RecordBatch, *, with_time: bool) -> pa.Array:
    columns = [rows.column(name).to_pylist() for name in ("offset", "key", "value")]
    if with_time:
        times = rows.column("timestamp").cast(pa.int64()).to_pylist()
        types = rows.column("timestampType").to_pylist()
    else:
        times, types = [None] * len(rows), [_NO_TIME] * len(rows)
    found = (row_hash(*row) for row in zip(*columns, times, types, strict=True))
    return pa.array([number - (number >> 63 << 64) for number in found], pa.int64())


def _view(buffer: pa.Buffer | None) -> memoryview | None:
    return None if buffer is None else memoryview(buffer).cast("B")


def as_columns(rows: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return these columns of rows, cast to these types: Spark and other writers use others."""
    if rows.schema.equals(columns):
        return rows
    arrays = [rows.column(field.name).cast(field.type) for field in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


PLACE = pa.schema([("topic", pa.dictionary(pa.int32(), pa.string())), ("date", pa.date32())])
"""The partition columns of a table.

Its files hold them, too, since not all readers add them from paths. A file has one topic, whose
name is stored once.
"""


def with_partition_columns(columns: pa.Schema = SCHEMA) -> pa.Schema:
    """Return the columns of a table, for messages with these columns."""
    return pa.schema([*columns, *PLACE])


def placed(rows: pa.Table, topic: str, day: int) -> pa.Table:
    """Add columns for topic and day to rows of one topic and day.

    Args:
        rows: rows of a landing.
        topic: the topic's name.
        day: the day, counted from the epoch.
    """
    names = pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), len(rows)), pa.array([topic])
    )
    days = pa.repeat(pa.scalar(day, pa.int32()), len(rows)).cast(pa.date32())
    return rows.append_column("topic", names).append_column("date", days)
