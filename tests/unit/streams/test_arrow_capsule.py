"""A stream, and its batches, as a source for readers of Arrow's C streams."""

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


def test_a_reader_ends_where_nothing_comes_and_another_goes_on() -> None:
    """Batch by batch; the schema is there before, and nothing is read for it."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, queue = stream_of(chunk_of(one, range(5)), chunk_of(two, [7]), timeout_ms=QUIET_MS)
    reader = from_stream(stream)
    assert reader.schema == arrow.SCHEMA
    assert one.delivered_offset is None
    assert [offsets_of(batch) for batch in reader] == [[0, 1, 2, 3, 4], [7]]
    assert queue.offer(chunk_of(one, [5]), lambda: None)
    assert from_stream(stream).read_all()["offset"].to_pylist() == [5]


def test_a_reader_ends_with_the_stream() -> None:
    """There is no time-out."""
    stream, queue = stream_of(chunk_of(claim_of(committed=0), range(2)))
    queue.close()
    assert pa.table(stream)["offset"].to_pylist() == [0, 1]


@pytest.mark.parametrize("delivery", Delivery)
def test_a_batch_is_consumed_when_its_reader_asks_for_the_next(delivery: Delivery) -> None:
    """As with ``arrow_batches``; who stops amid a stream leaves the rest to the next."""
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


def test_errors_are_told_by_the_reader_which_goes_on() -> None:
    """Not as an end: records of other partitions lie behind it."""
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
    """One without a key, one of each kind of time."""
    return [
        Record(3, b"k", b"v", 1_400_000_000_123, TimestampType.CREATE_TIME),
        Record(5, None, b"w", -1, TimestampType.CREATE_TIME),
    ]


@pytest.mark.parametrize("names", [[name] for name in arrow.SCHEMA.names] + [["offset", "key"]])
def test_chosen_columns_are_those_of_the_whole(names: list[str]) -> None:
    """In the order in which they are named; empty batches have them, too."""
    whole, _ = stream_of(chunk_with(*some_records()))
    stream, _ = stream_of(chunk_with(*some_records()))
    batches = stream.arrow_batches(columns=names, timeout_ms=0)
    batch = next(batches)
    batch.validate(full=True)
    assert batch == next(whole.arrow_batches()).select(names)
    assert next(batches).schema.names == names


def test_chosen_batches_are_a_source_as_well() -> None:
    """Of their columns alone."""
    stream, _ = stream_of(chunk_with(*some_records()), timeout_ms=QUIET_MS)
    table = pa.table(stream.arrow_batches(columns=["value"], max_records=1))
    assert table.to_pydict() == {"value": [b"v", b"w"]}
    assert table["value"].num_chunks == 2


def test_a_requested_schema_chooses_and_casts() -> None:
    """By its names, in its order; types are pyarrow's part."""
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
def test_columns_that_are_not_there_are_refused(columns: Any, text: str) -> None:
    """At once, before anything is read."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match=text):
        stream.arrow_batches(columns=columns)


def test_a_requested_schema_that_can_not_be_is_refused() -> None:
    """Names before, types by pyarrow."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match="no column 'keys'"):
        from_stream(stream, schema=pa.schema([("keys", pa.binary())]))
    with pytest.raises((pa.ArrowException, TypeError)):
        from_stream(stream, schema=pa.schema([("offset", pa.list_(pa.int8()))]))
