"""Converts records of either engine to Arrow columns and batches: for streams, polls and Spark.

Every key and value is copied once, into its column; columns that are not wanted are not made.

Source: Arrow's columnar format, variable-size binary layout.
"""

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import pyarrow as pa

from zkconsumer.model import TopicPartition
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.rows import Headers, Row

if TYPE_CHECKING or ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

Parts: TypeAlias = "Sequence[_core.Run | list[Row]]"
_Buffers: TypeAlias = "Sequence[_core.ColumnBytes | None]"

_MOST_MILLIS = (2**63 - 1) // 1000
TIMESTAMP = pa.timestamp("us", tz="UTC")
"""Spark's timestamp type in Arrow."""
_KINDS: Final = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "timestampType": pa.int32(),
}
"""The columns made from records, by the names of Spark's Kafka source."""


class RecordPiece(Protocol):
    """Consecutive records of one partition, such as a ``RecordSlice``."""

    def __len__(self) -> int: ...

    def parts(self) -> Parts:
        """Return its runs or lists of rows, in order."""

    def headers(self) -> Mapping[int, Headers]:
        """Return the headers of the records that have any, by index."""


Pieces = Sequence[tuple[TopicPartition, RecordPiece]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordColumns:
    """Columns of equal length; only keys and values may hold nulls.

    Attributes:
        count: the length of each column.
        arrays: the columns that were wanted, by name; ``timestamp`` is -1 ms if the log has none,
            and ``timestampType`` is a number of ``model.TimestampType``.
        timestamp_count: the number of timestamps that are not negative.
    """

    count: int
    arrays: Mapping[str, pa.Array]
    timestamp_count: int

    def column(self, field: pa.Field) -> pa.Array:
        """Return the column of a field; if it allows nulls, missing timestamps are null."""
        made = self.arrays[field.name]
        if field.name != "timestamp" or not field.nullable or self.timestamp_count == self.count:
            return made
        if not self.timestamp_count:
            return pa.nulls(self.count, TIMESTAMP)
        import pyarrow.compute as pc  # noqa: PLC0415 - few need it

        return pc.if_else(
            pc.greater_equal(made.cast(pa.int64()), 0), made, pa.scalar(None, TIMESTAMP)
        )


def assemble(schema: pa.Schema, pieces: Pieces) -> pa.RecordBatch:
    """Make one batch of all records, in order; it may have no rows.

    If the log has no timestamp, it is null if the schema allows that, else -1 ms. ``headers`` are
    null for records without any.

    Args:
        schema: the schema of the columns to make: some of Spark's Kafka source.
        pieces: the records, each piece with its partition.

    Raises:
        OverflowError: the data is larger than an int32 can count.
        BufferError: the bytes were changed after they were checked.
    """
    found = _columns_of([part for _, piece in pieces for part in piece.parts()], schema.names)
    if not found:
        return no_rows(schema)
    # Each of these is made once for all pieces; the parts' columns are copied once.
    whole = {
        field.name: _OF_PIECES[field.name](pieces, field.type)
        for field in schema
        if field.name in _OF_PIECES
    }
    batches: list[pa.RecordBatch] = []
    begin = 0
    for columns in found:
        arrays = [
            whole[field.name].slice(begin, columns.count)
            if field.name in whole
            else columns.column(field)
            for field in schema
        ]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        begin += columns.count
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def data_bytes(parts: Parts) -> int:
    """Return the size of the keys or the values, whichever is larger."""
    keys = values = 0
    for part in parts:
        if isinstance(part, list):
            keys += sum(len(row[1] or b"") for row in part)
            values += sum(len(row[2] or b"") for row in part)
        else:
            keys += part.key_bytes
            values += part.value_bytes
    return max(keys, values)


def repeated_text(text: str, count: int) -> pa.Array:
    """Make a column that repeats a string `count` times.

    ``pyarrow.scalar`` would import pandas if that is installed, which takes a third of a second
    before the first record.
    """
    data = text.encode()
    return _repeated(pa.string(), [None, struct.pack("=ii", 0, len(data)), data], count)


def repeated_int32(number: int, count: int) -> pa.Array:
    """Make a column that repeats a number `count` times; avoids pandas, too."""
    return _repeated(pa.int32(), [None, struct.pack("=i", number)], count)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Make a batch without rows; avoids pandas, too."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def columns_of_runs(
    runs: "Sequence[_core.Run]", wanted: Collection[str] = _KINDS.keys()
) -> RecordColumns:
    """Make the columns of runs, in their order.

    Args:
        runs: the runs of records.
        wanted: the names of the columns to make; unknown names are ignored.

    Raises:
        OverflowError: the data is larger than an int32 can count.
        BufferError: the bytes were changed after they were checked.
    """
    count, *made = _core.arrow_columns(
        list(runs),
        keys="key" in wanted,
        values="value" in wanted,
        offsets="offset" in wanted,
        timestamps="timestamp" in wanted,
        timestamp_types="timestampType" in wanted,
    )
    arrays = {
        name: _array(kind, count, buffers if isinstance(buffers, tuple) else (None, buffers))
        for (name, kind), buffers in zip(_KINDS.items(), made, strict=True)
        if buffers is not None
    }
    timestamp_count = sum(run.timestamp_count for run in runs)
    return RecordColumns(count=count, arrays=arrays, timestamp_count=timestamp_count)


def columns_of_rows(rows: Sequence[Row], wanted: Collection[str] = _KINDS.keys()) -> RecordColumns:
    """Make the columns of one or more rows; ``wanted`` as in ``columns_of_runs``."""
    offsets, keys, values, millis, types = zip(*rows, strict=True)

    data = {"key": keys, "value": values, "offset": offsets, "timestampType": types}
    arrays = {name: pa.array(data[name], _KINDS[name]) for name in data if name in wanted}
    if "timestamp" in wanted:
        bounded = [max(-_MOST_MILLIS, min(time_ms, _MOST_MILLIS)) * 1000 for time_ms in millis]
        arrays["timestamp"] = pa.array(bounded, pa.int64()).cast(TIMESTAMP)
    timestamp_count = sum(time_ms >= 0 for time_ms in millis)
    return RecordColumns(count=len(rows), arrays=arrays, timestamp_count=timestamp_count)


def _columns_of(parts: Parts, wanted: Collection[str]) -> list[RecordColumns]:
    """Make columns of rows, runs, or both; adjacent parts of one kind together."""
    found: list[RecordColumns] = []
    for kind, group in groupby(parts, type):
        some: Any = list(group)  # lists of rows, or runs
        if kind is list:
            found.append(columns_of_rows(list(chain.from_iterable(some)), wanted))
        else:
            found.append(columns_of_runs(some, wanted))
    return found


def _topics(pieces: Pieces, _kind: pa.DataType) -> pa.Array:
    return _joined([repeated_text(tp.topic, len(piece)) for tp, piece in pieces])


def _partitions(pieces: Pieces, _kind: pa.DataType) -> pa.Array:
    return _joined([repeated_int32(tp.partition, len(piece)) for tp, piece in pieces])


def _headers(pieces: Pieces, kind: pa.DataType) -> pa.Array:
    found: dict[int, object] = {}
    count = 0
    for _, piece in pieces:
        for index, headers in piece.headers().items():
            found[count + index] = [{"key": name, "value": value} for name, value in headers]
        count += len(piece)
    return pa.array(map(found.get, range(count)), kind) if found else pa.nulls(count, kind)


_OF_PIECES: Final[Mapping[str, Callable[[Pieces, pa.DataType], pa.Array]]] = {
    "topic": _topics,
    "partition": _partitions,
    "headers": _headers,
}
"""The functions for the columns that do not depend on the form of the records."""


def _joined(arrays: Sequence[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _repeated(kind: pa.DataType, buffers: _Buffers, count: int) -> pa.Array:
    return pa.repeat(_array(kind, 1, buffers)[0], count)


def _array(kind: pa.DataType, count: int, buffers: _Buffers) -> pa.Array:
    # Read-only, since batches are shared, and the memory of large columns is writable.
    arrow_buffers = [
        None if buffer is None else pa.py_buffer(memoryview(buffer).toreadonly())
        for buffer in buffers
    ]
    return pa.Array.from_buffers(kind, count, arrow_buffers)
