"""A stream's messages as Arrow record batches; pyarrow is imported here and in ``arrow_columns``.

The columns are those of Spark's Kafka source. Keys and values are the bytes of the log; no decoder
is called.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types.
"""

import copy
from collections.abc import Callable, Collection
from typing import Any, Generic, Self, TypeVar

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "Arrow batches need the pyarrow package: pip install 'zkconsumer[arrow]'", name="pyarrow"
    ) from error

from zkconsumer.errors import ConsumerTimeout
from zkconsumer.model import TopicPartition
from zkconsumer.streams.arrow_capsule import capsule_of, chosen
from zkconsumer.streams.arrow_columns import (
    TIMESTAMP,
    RecordColumns,
    columns_of_rows,
    columns_of_runs,
    no_rows,
    repeated_int32,
    repeated_text,
    row_bytes,
    run_bytes,
)
from zkconsumer.streams.batches import BatchReader
from zkconsumer.streams.chunk_cursor import ChunkCursor, PythonChunkCursor
from zkconsumer.streams.reader import BlockingTask, Need
from zkconsumer.streams.waiting import Waiting

K = TypeVar("K")
V = TypeVar("V")
MOST_BYTES = 2**31 - 1
"""Limit of one column's data: Arrow counts it with an int32."""

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP, nullable=False),
        pa.field("timestampType", pa.int32(), nullable=False),
    ]
)
"""``timestamp`` is -1 ms, as in Spark, and ``timestampType`` -1 where the log has none."""


class ArrowBatches(Generic[K, V]):
    """The batches of ``KafkaStream.arrow_batches``. Thread: the stream's.

    Args:
        reader: the stream's reader.
        waiting: the stream's waits.
        refuse_others: raises if a task waits for the stream.
        most: ``max_records``.
        timeout_ms: how long to wait for the first record.
        columns: the names of the columns, in their order; None: all.

    Attributes:
        schema: the schema of every batch.

    Raises:
        ValueError: an argument is out of range, or a column does not exist.
    """

    def __init__(
        self,
        reader: BatchReader[K, V],
        waiting: Waiting[K, V],
        *,
        refuse_others: Callable[[], None],
        most: int,
        timeout_ms: int,
        columns: Collection[str] | None,
    ) -> None:
        if most < 1 or timeout_ms < 0:
            raise ValueError(f"no batches of {most} records within {timeout_ms} ms")
        self._reader = reader
        self._waiting = waiting
        self._refuse_others = refuse_others
        self._most = most
        self._timeout_ms = timeout_ms
        self.schema = chosen(SCHEMA, columns)
        self._idle_since_ms: int | None = None

    def __iter__(self) -> Self:
        return self

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the batches as an Arrow C stream, see ``KafkaStream``."""
        return capsule_of(self.schema, self._read_on, requested_schema)

    def __next__(self) -> pa.RecordBatch:
        self._refuse_others()
        deadline = self._waiting.begin(self._idle_since_ms, self._timeout_ms)
        self._idle_since_ms = None
        while True:
            need = self._reader.turn()
            cursor = self._reader.ready_cursor() if need is Need.NOTHING else None
            if cursor is not None:
                batch, position, next_offset = _batch_of(cursor, self._most, self.schema)
                # After the last call: the batch and its offsets are handed over together or not at
                # all.
                if self._reader.transfer_part(cursor, position, next_offset):
                    return batch
            elif isinstance(need, BlockingTask):
                self._waiting.run(need)
            elif need is Need.END:
                raise StopIteration
            elif need is not Need.NOTHING:
                is_due = self._waiting.is_due(deadline)
                self._waiting.rest(need, deadline)
                if is_due:
                    self._idle_since_ms = deadline.idle_since_ms
                    return no_rows(self.schema)

    def _read_on(self, schema: pa.Schema) -> "_UntilQuiet[K, V]":
        """Return the batches of these columns, from the stream's position."""
        narrowed = copy.copy(self)
        narrowed.schema = schema
        return _UntilQuiet(narrowed)


class _UntilQuiet(Generic[K, V]):
    """Batches with rows, until none comes in time: its reader has no use for empty ones.

    Not a generator: after an error it goes on, as the stream does. A generator would have ended,
    and its reader would take that for the end of the topic.
    """

    def __init__(self, batches: ArrowBatches[K, V]) -> None:
        self._batches = batches

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            # In a for loop, no signal handler runs between the batches and us.
            for batch in self._batches:
                if batch.num_rows:
                    return batch
        except ConsumerTimeout:
            pass
        raise StopIteration


def column_of(name: str, columns: RecordColumns, tp: TopicPartition) -> pa.Array:
    """Return one column of ``SCHEMA`` for records of one partition."""
    match name:
        case "topic":
            return repeated_text(tp.topic, len(columns))
        case "partition":
            return repeated_int32(tp.partition, len(columns))
        case _:
            return columns.column(name)


def _batch_of(
    cursor: ChunkCursor[K, V], most: int, schema: pa.Schema
) -> tuple[pa.RecordBatch, Any, int]:
    """Return a cursor's next messages, the position after them, and the next offset."""
    assert cursor.chunk is not None
    tp = cursor.chunk.claim.topic_partition
    # Any: one of two classes, which are distinguished only here.
    either: Any = cursor
    if isinstance(either, PythonChunkCursor):
        rows, position = either.peek_rows(most)
        while len(rows) > 1 and row_bytes(rows) > MOST_BYTES:
            rows, position = either.peek_rows(len(rows) // 2)
        return _batch(columns_of_rows(rows, schema.names), tp, schema), position, rows[-1][0] + 1
    runs, position = either.peek_runs(most)
    while (count := sum(map(len, runs))) > 1 and run_bytes(runs) > MOST_BYTES:
        runs, position = either.peek_runs(count // 2)
    return (
        _batch(columns_of_runs(runs, schema.names), tp, schema),
        position,
        runs[-1].last_offset + 1,
    )


def _batch(columns: RecordColumns, tp: TopicPartition, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [column_of(name, columns, tp) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
