"""A ``KafkaConsumer`` as an Arrow C stream, and polls of selected columns."""

from typing import Any

import pytest

from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer
from zkconsumer import KafkaConsumer
from zkconsumer.errors import IllegalArgumentError, PartitionFailed

pa = pytest.importorskip("pyarrow")
QUIET_MS = 10


def reader_of(consumer: KafkaConsumer, *schema: Any) -> Any:
    """Build a reader as pyarrow does."""
    return pa.RecordBatchReader.from_stream(consumer, *schema)


def test_a_reader_ends_like_an_iteration_and_another_continues(
    make_consumer: ConsumerFactory,
) -> None:
    """Nothing is polled before the first read; the schema is that of ``poll_arrow``."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=QUIET_MS)
    reader = reader_of(consumer)
    assert reader.schema == consumer.poll_arrow(max_records=1).schema
    assert consumer.position(A) == 1
    table = reader.read_all()
    assert table["offset"].to_pylist() == [*range(1, 10), *range(10)]
    fakes.engine.ends[B] = 12
    assert reader_of(consumer).read_all()["offset"].to_pylist() == [10, 11]


def test_what_was_read_is_committed_when_the_next_is_asked_for(
    make_consumer: ConsumerFactory,
) -> None:
    """A batch is committed as a poll is: when the next one is requested."""
    consumer, fakes = joined_consumer(
        make_consumer, consumer_timeout_ms=QUIET_MS, auto_commit_interval_ms=0
    )
    reader = reader_of(consumer)
    assert reader.read_next_batch().num_rows == 20
    while fakes.group.pending:
        fakes.group.response()
    assert fakes.group.committed_offsets[A].offset == 0
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    while fakes.group.pending:
        fakes.group.response()
    assert fakes.group.committed_offsets[A].offset == 10


@pytest.mark.parametrize("schema", [(), ("offset",)])
def test_a_reader_ends_when_the_consumer_is_closed(
    make_consumer: ConsumerFactory, schema: tuple[str, ...]
) -> None:
    """Closing ends a reader at once, without an error, then or later."""
    consumer, fakes = joined_consumer(make_consumer)
    wanted = [pa.schema([(name, pa.int64()) for name in schema])] if schema else []
    reader = reader_of(consumer, *wanted)
    assert reader.read_next_batch().num_rows == 20
    consumer.close()
    assert fakes.group.committed_offsets[A].offset == 10
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    assert reader_of(consumer).read_all().num_rows == 0


def test_errors_are_told_by_the_reader_which_goes_on(make_consumer: ConsumerFactory) -> None:
    """An error is not reported as the end, since other partitions have more records."""
    consumer, fakes = joined_consumer(make_consumer, consumer_timeout_ms=QUIET_MS)
    fakes.engine.errors = [PartitionFailed(A, 10, "corrupt")]
    reader = reader_of(consumer)
    assert reader.read_next_batch().num_rows == 20
    with pytest.raises(pa.ArrowException, match="corrupt"):
        reader.read_next_batch()
    fakes.engine.ends[B] = 11
    assert reader.read_next_batch()["offset"].to_pylist() == [10]


def test_a_reader_raises_a_wakeup(make_consumer: ConsumerFactory) -> None:
    """It ends one poll, and no record is lost."""
    consumer, _ = joined_consumer(make_consumer, consumer_timeout_ms=QUIET_MS)
    reader = reader_of(consumer)
    consumer.wakeup()
    with pytest.raises(pa.ArrowException, match="Woken"):
        reader.read_next_batch()
    assert reader.read_all().num_rows == 20


def test_a_requested_schema_selects_and_casts_columns(make_consumer: ConsumerFactory) -> None:
    """Columns are selected by name, in the order of the schema."""
    consumer, _ = joined_consumer(make_consumer, consumer_timeout_ms=QUIET_MS)
    schema = pa.schema([("offset", pa.int64()), ("value", pa.string())])
    table = reader_of(consumer, schema).read_all()
    assert table.schema == schema
    assert table["offset"].to_pylist() == [*range(10)] * 2
    with pytest.raises(ValueError, match="no column 'time': there are key"):
        reader_of(consumer, pa.schema([("time", pa.int64())]))


@pytest.mark.parametrize("names", [["headers"], ["topic", "offset"], ["partition"]])
def test_selected_columns_equal_those_of_a_full_poll(
    make_consumer: ConsumerFactory, names: list[str]
) -> None:
    """Columns come in the order in which they are named, in an empty batch as well."""
    consumer, _ = joined_consumer(make_consumer)
    whole, _ = joined_consumer(make_consumer)
    assert consumer.poll_arrow(columns=names) == whole.poll_arrow().select(names)
    empty = consumer.poll_arrow(columns=names)
    assert (empty.num_rows, empty.schema.names) == (0, names)


def test_unknown_columns_are_refused(make_consumer: ConsumerFactory) -> None:
    """No records are consumed by the refused call."""
    consumer, _ = joined_consumer(make_consumer)
    with pytest.raises(IllegalArgumentError, match="no column 'time'"):
        consumer.poll_arrow(columns=["time"])
    assert consumer.position(A) == 0
