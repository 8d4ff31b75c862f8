"""Converts a stream's messages to Arrow record batches; needs pyarrow, which is optional.

The columns are those of Spark's Kafka source. Keys and values are the bytes of the log; no decoder
is called.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types.
"""

import copy
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, Self, TypeVar

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "Arrow batches need the pyarrow package: pip install 'zkconsumer[arrow]'", name="pyarrow"
    ) from error

from zkconsumer.errors import ConsumerTimeout
from zkconsumer.records.rows import Headers
from zkconsumer.streams.arrow_capsule import capsule_of, chosen
from zkconsumer.streams.arrow_columns import TIMESTAMP, Parts, assemble, data_bytes, no_rows
from zkconsumer.streams.batches import BatchReader
from zkconsumer.streams.chunk_cursor import ChunkCursor, PythonChunkCursor
from zkconsumer.streams.reader import BlockingTask, Need
from zkconsumer.streams.waiting import Waiting

K = TypeVar("K")
V = TypeVar("V")
MAX_COLUMN_BYTES = 2**31 - 1
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
"""If the log has no timestamp, it is -1 ms, as in Spark, and ``timestampType`` is -1."""


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
            raise ValueError(f"can't make batches of {most} records within {timeout_ms} ms")
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
                # The last call, so that the batch and its offsets are handed over together or not
                # at all.
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
    """Iterates over batches with rows; ends when no batch arrives in time.

    Not a generator, since it continues after an error, as the stream does. A generator would have
    ended, which its reader would take for the end of the topic.
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


class _Peeked:
    """A ``RecordPiece`` of a cursor's next messages; streams have no headers column."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def parts(self) -> Parts:
        """See ``RecordPiece``."""
        return self._parts

    def headers(self) -> Mapping[int, Headers]:
        """See ``RecordPiece``."""
        return {}


def _batch_of(
    cursor: ChunkCursor[K, V], most: int, schema: pa.Schema
) -> tuple[pa.RecordBatch, Any, int]:
    """Return a batch of a cursor's next messages, the position after them, and the next offset."""
    assert cursor.chunk is not None
    parts, position = _peeked(cursor, most)
    while (count := sum(map(len, parts))) > 1 and data_bytes(parts) > MAX_COLUMN_BYTES:
        parts, position = _peeked(cursor, count // 2)
    last = parts[-1]
    last_offset = last[-1][0] if isinstance(last, list) else last.last_offset
    batch = assemble(schema, [(cursor.chunk.claim.topic_partition, _Peeked(parts))])
    return batch, position, last_offset + 1


def _peeked(cursor: Any, most: int) -> tuple[Parts, Any]:
    """Return runs or rows, and the position after them; ``cursor`` is of one of two classes."""
    if isinstance(cursor, PythonChunkCursor):
        rows, position = cursor.peek_rows(most)
        return [rows], position
    return cursor.peek_runs(most)  # type: ignore[no-any-return]
