"""Messages of a stream as Arrow record batches."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tests.support import chunks
from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.queues import new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerTimeout, PartitionFailed
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.streams import arrow
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]


def stream_of(
    *queued: Chunk,
    timeout_ms: int = -1,
    delivery: Delivery = Delivery.AT_LEAST_ONCE,
    gate: DeliveryGate | None = None,
) -> tuple[Stream, StreamQueue]:
    """Return a stream over these chunks, and its queue."""
    queue = new_queue(100)
    for chunk in queued:
        assert queue.offer(chunk, ignore)
    stream = Stream(
        queue,
        clock=SystemClock(),
        timeout_ms=timeout_ms,
        delivery=delivery,
        commit_ahead=lambda _claim, _offset: True,
        gate=gate,
    )
    return stream, queue


def chunk_with(*records: Record, magic: int = 1) -> Chunk:
    """Return a chunk of partition 1 with these records."""
    found = (
        chunks.native_records(build_message_set(records, magic=magic), records[0].offset)
        if chunks.are_native()
        else list(records)
    )
    return Chunk(claim_of(T1), records[0].offset, records[-1].offset + 1, found, 100)


def offsets_of(batch: pa.RecordBatch) -> list[int]:
    """Return a batch's column of offsets."""
    found: list[int] = batch.column("offset").to_pylist()
    return found


def test_the_columns_are_those_of_sparks_kafka_source() -> None:
    """Columns have the names, types and nulls of Spark's source; times out of range are clamped."""
    stream, _ = stream_of(
        chunk_with(
            Record(3, b"k", b"v", 1_400_000_000_123, TimestampType.CREATE_TIME),
            Record(5, None, None, -1, TimestampType.CREATE_TIME),
            Record(6, b"", b"", 2**62, TimestampType.LOG_APPEND_TIME),
        )
    )
    batch = next(stream.arrow_batches())
    assert isinstance(batch, pa.RecordBatch)
    batch.validate(full=True)
    assert [(field.name, str(field.type)) for field in batch.schema] == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int32"),
        ("offset", "int64"),
        ("timestamp", "timestamp[us, tz=UTC]"),
        ("timestampType", "int32"),
    ]
    assert batch.column("key").to_pylist() == [b"k", None, b""]
    assert batch.column("value").to_pylist() == [b"v", None, b""]
    assert batch.column("topic").to_pylist() == ["t"] * 3
    assert batch.column("partition").to_pylist() == [1] * 3
    assert offsets_of(batch) == [3, 5, 6]
    assert batch.column("timestamp").cast(pa.int64()).to_pylist() == [
        1_400_000_000_123_000,
        -1_000,
        (2**63 - 1) // 1_000 * 1_000,
    ]
    assert batch.column("timestampType").to_pylist() == [0, 0, 1]


def test_magic_0_has_the_time_that_spark_gives_it() -> None:
    """Records of magic 0 are dated one millisecond before the epoch, and have no timestamp type."""
    stream, _ = stream_of(chunk_with(Record(0, None, b"v"), magic=0))
    batch = next(stream.arrow_batches())
    assert batch.column("timestamp").to_pylist() == [
        datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)
    ]
    assert batch.column("timestampType").to_pylist() == [-1]


def test_a_batch_is_one_chunk_or_a_part_of_it() -> None:
    """Each batch holds records of one chunk, at most ``max_records``, in the order of the queue."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, queue = stream_of(chunk_of(one, range(5)), chunk_of(two, [7]), chunk_of(one, [5]))
    queue.close()
    batches = list(stream.arrow_batches(max_records=2))
    assert [offsets_of(batch) for batch in batches] == [[0, 1], [2, 3], [4], [7], [5]]
    assert (one.consumed_offset, two.consumed_offset) == (6, 8)
    assert queue.used_bytes() == 0


def test_no_column_exceeds_the_offsets_of_an_int32(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch ends before a column exceeds an int32's offsets; a single message always fits."""
    monkeypatch.setattr(arrow, "MAX_COLUMN_BYTES", 50)
    stream, queue = stream_of(chunk_of(claim_of(committed=0), range(5)))
    queue.close()
    assert [offsets_of(batch) for batch in stream.arrow_batches()] == [[0, 1], [2], [3, 4]]


@pytest.mark.parametrize("delivery", Delivery)
def test_a_batch_is_consumed_when_the_next_is_requested(delivery: Delivery) -> None:
    """A batch is consumed when the next is requested, and single messages continue after it."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(chunk_of(claim, range(4), next_offset=9), delivery=delivery)
    batches = stream.arrow_batches(max_records=2, timeout_ms=0)
    assert offsets_of(next(batches)) == [0, 1]
    assert claim.delivered_offset == 2
    assert claim.consumed_offset == (2 if delivery.consumes_delivered else 0)
    assert next(stream).offset == 2
    assert claim.consumed_offset == (3 if delivery.consumes_delivered else 2)
    assert offsets_of(next(batches)) == [3]
    assert next(batches).num_rows == 0
    assert claim.consumed_offset == 9


def test_errors_pauses_and_time_outs_are_those_of_a_stream() -> None:
    """A stream's errors come after its records, and batches are empty while its gate is suspect."""
    gate = DeliveryGate(SystemClock(), 0)
    broken = chunk_of(claim_of(committed=0), [0], error=PartitionFailed(T0, 1, "CRC"))
    lost = claim_of(T1, committed=0)
    stream, _ = stream_of(broken, chunk_of(lost, [0, 1]), timeout_ms=30, gate=gate)
    batches = stream.arrow_batches(max_records=1, timeout_ms=1)
    gate.suspect()
    empty = next(batches)
    assert (empty.num_rows, empty.schema) == (0, arrow.SCHEMA)
    gate.trust()
    assert offsets_of(next(batches)) == [0]
    with pytest.raises(PartitionFailed):
        next(batches)
    assert offsets_of(next(batches)) == [0]
    lost.active = False
    with pytest.raises(ConsumerTimeout):
        assert not any(batch.num_rows for batch in batches)


@pytest.mark.parametrize("arguments", [{"max_records": 0}, {"timeout_ms": -1}])
def test_invalid_arguments_are_refused(arguments: Any) -> None:
    """An invalid argument is refused at the call, not at the first batch."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match="can't make batches of"):
        stream.arrow_batches(**arguments)
