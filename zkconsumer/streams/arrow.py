"""A stream's messages as Arrow record batches: the only place that imports pyarrow.

The columns are those of Spark's Kafka source. Keys and values come as they lie in the log; no
decoder is called.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types.
"""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

import pyarrow as pa

from zkconsumer.model import TopicPartition
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.rows import Row
from zkconsumer.streams.batches import BatchReader
from zkconsumer.streams.hand import Hand, PureHand
from zkconsumer.streams.reader import Errand, Need
from zkconsumer.streams.waiting import Waiting

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

K = TypeVar("K")
V = TypeVar("V")
_MOST_MILLIS = (2**63 - 1) // 1000
MOST_BYTES = 2**31 - 1
"""Of the data of one column: an int32 counts them."""
_TIMESTAMP = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", _TIMESTAMP, nullable=False),
        pa.field("timestampType", pa.int32(), nullable=False),
    ]
)
"""``timestamp`` is -1 ms, as in Spark, and ``timestampType`` -1 where the log has none."""


class ArrowBatches(Generic[K, V]):
    """What ``KafkaStream.arrow_batches`` gives. Thread: the stream's.

    Args:
        reader: of the stream.
        waiting: how the stream waits.
        refuse_others: raises where somebody else waits for the stream.
        most: ``max_records``.
        timeout_ms: how long to wait for the first of them.
    """

    def __init__(
        self,
        reader: BatchReader[K, V],
        waiting: Waiting[K, V],
        *,
        refuse_others: Callable[[], None],
        most: int,
        timeout_ms: int,
    ) -> None:
        if most < 1 or timeout_ms < 0:
            raise ValueError(f"no batches of {most} records within {timeout_ms} ms")
        self._reader = reader
        self._waiting = waiting
        self._refuse_others = refuse_others
        self._most = most
        self._timeout_ms = timeout_ms
        self._idle_since_ms: int | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        self._refuse_others()
        patience = self._waiting.begin(self._idle_since_ms, self._timeout_ms)
        self._idle_since_ms = None
        while True:
            need = self._reader.turn()
            hand = self._reader.ready_hand() if need is Need.NOTHING else None
            if hand is not None:
                batch, place, behind = _batch_of(hand, self._most)
                # Behind the last call: it is handed over with its offsets, or neither is.
                if self._reader.hand_over_part(hand, place, behind):
                    return batch
            elif isinstance(need, Errand):
                self._waiting.run(need)
            elif need is Need.END:
                raise StopIteration
            elif need is not Need.NOTHING:
                is_due = self._waiting.is_due(patience)
                self._waiting.rest(need, patience)
                if is_due:
                    self._idle_since_ms = patience.idle_since_ms
                    return pa.RecordBatch.from_pylist([], schema=SCHEMA)


def _batch_of(hand: Hand[K, V], most: int) -> tuple[pa.RecordBatch, Any, int]:
    """The next messages of a hand, the place behind them, and the offset."""
    assert hand.chunk is not None
    tp = hand.chunk.claim.topic_partition
    # Any: one of two classes, which are told apart here only.
    one: Any = hand
    if isinstance(one, PureHand):
        rows, place = one.look_rows(most)
        while len(rows) > 1 and _row_bytes(rows) > MOST_BYTES:
            rows, place = one.look_rows(len(rows) // 2)
        return _batch_of_rows(rows, tp), place, rows[-1][0] + 1
    runs, place = one.look_runs(most)
    while (count := sum(map(len, runs))) > 1 and _run_bytes(runs) > MOST_BYTES:
        runs, place = one.look_runs(count // 2)
    return _batch_of_runs(runs, tp), place, runs[-1].last_offset + 1


def _run_bytes(runs: "list[_core.Run]") -> int:
    """Of the larger column."""
    return max(sum(run.key_bytes for run in runs), sum(run.value_bytes for run in runs))


def _row_bytes(rows: list[Row]) -> int:
    """Of the larger column."""
    return max(sum(len(row[1] or b"") for row in rows), sum(len(row[2] or b"") for row in rows))


def _batch_of_runs(runs: "list[_core.Run]", tp: TopicPartition) -> pa.RecordBatch:
    rows, keys, values, offsets, micros, types = _core.arrow_columns(runs)

    def column(kind: pa.DataType, *buffers: bytes | None) -> pa.Array:
        held = [None if one is None else pa.py_buffer(one) for one in buffers]
        return pa.Array.from_buffers(kind, rows, held)

    return _batch(
        [column(pa.binary(), *keys), column(pa.binary(), *values)],
        tp,
        [
            column(pa.int64(), None, offsets),
            column(_TIMESTAMP, None, micros),
            column(pa.int32(), None, types),
        ],
    )


def _batch_of_rows(rows: list[Row], tp: TopicPartition) -> pa.RecordBatch:
    offsets, keys, values, millis, types = zip(*rows, strict=True)
    micros = [max(-_MOST_MILLIS, min(one, _MOST_MILLIS)) * 1000 for one in millis]
    return _batch(
        [pa.array(keys, pa.binary()), pa.array(values, pa.binary())],
        tp,
        [
            pa.array(offsets, pa.int64()),
            pa.array(micros, pa.int64()).cast(_TIMESTAMP),
            pa.array(list(map(int, types)), pa.int32()),
        ],
    )


def _batch(binaries: list[pa.Array], tp: TopicPartition, numbers: list[pa.Array]) -> pa.RecordBatch:
    rows = len(numbers[0])
    places = [
        pa.repeat(pa.scalar(tp.topic, pa.string()), rows),
        pa.repeat(pa.scalar(tp.partition, pa.int32()), rows),
    ]
    return pa.RecordBatch.from_arrays([*binaries, *places, *numbers], schema=SCHEMA)
