"""A stream, and its batches, as an Arrow C stream that other libraries read."""

from typing import Any

import pyarrow as pa
import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk
from tests.unit.streams.test_arrow import chunk_with, offsets_of, stream_of
from zkconsumer.errors import PartitionFailed
from zkconsumer.model import Record, TimestampType
from zkconsumer.streams import arrow
from zkconsumer.streams.delivery import Delivery

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

QUIET_MS = 20
from_stream = pa.RecordBatchReader.from_stream


def test_a_reader_ends_after_the_time_out_and_the_next_continues() -> None:
    """The schema is known before anything is read, and a reader ends after ``consumer.timeout.ms``.

    A new reader of the same stream continues.
    """
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, queue = stream_of(chunk_of(one, range(5)), chunk_of(two, [7]), timeout_ms=QUIET_MS)
    reader = from_stream(stream)
    assert reader.schema == arrow.SCHEMA
    assert one.delivered_offset is None
    assert [offsets_of(batch) for batch in reader] == [[0, 1, 2, 3, 4], [7]]
    assert queue.offer(chunk_of(one, [5]), lambda: None)
    assert from_stream(stream).read_all()["offset"].to_pylist() == [5]


def test_a_reader_ends_with_the_stream() -> None:
    """Without a time-out a reader ends when the stream is closed."""
    stream, queue = stream_of(chunk_of(claim_of(committed=0), range(2)))
    queue.close()
    assert pa.table(stream)["offset"].to_pylist() == [0, 1]


@pytest.mark.parametrize("delivery", Delivery)
def test_a_batch_is_consumed_when_its_reader_requests_the_next(delivery: Delivery) -> None:
    """A batch is consumed when its reader requests the next; a closed reader leaves the rest."""
    claim = claim_of(committed=0)
    chunks = [chunk_of(claim, [0, 1]), chunk_of(claim, [2, 3])]
    stream, _ = stream_of(*chunks, timeout_ms=QUIET_MS, delivery=delivery)
    reader = from_stream(stream)
    assert offsets_of(reader.read_next_batch()) == [0, 1]
    assert claim.delivered_offset == 2
    assert claim.consumed_offset == (2 if delivery.consumes_delivered else 0)
    reader.close()
    assert offsets_of(from_stream(stream).read_next_batch()) == [2, 3]
    assert claim.consumed_offset == (4 if delivery.consumes_delivered else 2)


def test_a_reader_raises_errors_and_continues() -> None:
    """A reader raises an error, never ends with one, and then continues with other partitions."""
    broken = chunk_of(claim_of(committed=0), [0], error=PartitionFailed(T0, 1, "bad CRC"))
    stream, _ = stream_of(broken, chunk_of(claim_of(T1, committed=0), [4]), timeout_ms=QUIET_MS)
    reader = from_stream(stream)
    assert offsets_of(reader.read_next_batch()) == [0]
    with pytest.raises(pa.ArrowException, match="bad CRC"):
        reader.read_next_batch()
    assert offsets_of(reader.read_next_batch()) == [4]
    with pytest.raises(StopIteration):
        reader.read_next_batch()


def some_records() -> list[Record]:
    """Return records with and without a key, with and without a timestamp."""
    return [
        Record(3, b"k", b"v", 1_400_000_000_123, TimestampType.CREATE_TIME),
        Record(5, None, b"w", -1, TimestampType.CREATE_TIME),
    ]


@pytest.mark.parametrize("names", [[name] for name in arrow.SCHEMA.names] + [["offset", "key"]])
def test_chosen_columns_equal_those_of_the_whole_batch(names: list[str]) -> None:
    """Chosen columns come in the order in which they are named, in empty batches, too."""
    whole, _ = stream_of(chunk_with(*some_records()))
    stream, _ = stream_of(chunk_with(*some_records()))
    batches = stream.arrow_batches(columns=names, timeout_ms=0)
    batch = next(batches)
    batch.validate(full=True)
    assert batch == next(whole.arrow_batches()).select(names)
    assert next(batches).schema.names == names


def test_batches_of_chosen_columns_are_a_source_too() -> None:
    """Batches of chosen columns are an Arrow C stream of just these columns."""
    stream, _ = stream_of(chunk_with(*some_records()), timeout_ms=QUIET_MS)
    table = pa.table(stream.arrow_batches(columns=["value"], max_records=1))
    assert table.to_pydict() == {"value": [b"v", b"w"]}
    assert table["value"].num_chunks == 2


def test_a_requested_schema_chooses_and_casts() -> None:
    """A requested schema chooses and orders the columns, and pyarrow casts their types."""
    stream, _ = stream_of(chunk_with(*some_records()), timeout_ms=QUIET_MS)
    requested = pa.schema([("value", pa.string()), ("partition", pa.int64()), ("key", pa.binary())])
    reader = from_stream(stream, schema=requested)
    assert reader.schema == requested
    assert reader.read_all().to_pydict() == {
        "value": ["v", "w"],
        "partition": [1, 1],
        "key": [b"k", None],
    }


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["headers"], "no column 'headers': there are key, value, topic"),
        (["key", "key"], "column 'key' is named twice"),
        ([], "give a list of some of key, value"),
        ("key", "columns 'key': give a list"),
        ([["key"]], "no column"),
    ],
)
def test_unknown_columns_are_refused(columns: Any, text: str) -> None:
    """Unknown columns are refused at the call, before anything is read."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match=text):
        stream.arrow_batches(columns=columns)


def test_an_impossible_requested_schema_is_refused() -> None:
    """Unknown names in a requested schema are refused by us, impossible types by pyarrow."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match="no column 'keys'"):
        from_stream(stream, schema=pa.schema([("keys", pa.binary())]))
    with pytest.raises((pa.ArrowException, TypeError)):
        from_stream(stream, schema=pa.schema([("offset", pa.list_(pa.int8()))]))
