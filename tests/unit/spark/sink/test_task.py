"""A task of the sink: each row is acknowledged, or the task fails and says how far it got."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from tests.fakes.fake_script import Fail
from tests.support.fake_net import FakeNet, fake_net
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import RowRefused, WriteFailed
from zkconsumer.model import TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.partitioner import DEFAULT_PARTITIONER, text_hash
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.decode import decode_record_set
from zkconsumer.spark.sink.rows import sink_columns
from zkconsumer.spark.sink.task import SinkPlan, SinkTask
from zkconsumer.wire.api import ApiKey

SCHEMA = (
    StructType()
    .add("topic", "string")
    .add("partition", "integer")
    .add("key", "string")
    .add("value", "string")
)
SETTINGS = BatchSettings(timeout_ms=1_000, retries=2, backoff_ms=0)
Row = tuple[str | None, int | None, str | None, str | None]


@pytest.fixture
def net() -> FakeNet:
    """Create one broker with two topics of three partitions."""
    net = fake_net()
    net.cluster.create_topic("a", partitions=3)
    net.cluster.create_topic("b", partitions=3)
    return net


@pytest.fixture
def producer(net: FakeNet) -> Iterator[BatchProducer]:
    """Create a producer that writes to that broker."""
    sender = BatchProducer(
        net.brokers.addresses, connector=net.network, settings=SETTINGS, wait=lambda _ms: None
    )
    yield sender
    sender.close()


def task(
    net: FakeNet,
    producer: BatchProducer,
    *,
    topic: str | None = None,
    number: int = 0,
    flush: int = 1 << 20,
) -> SinkTask:
    """Create a task of the sink."""
    plan = SinkPlan(
        brokers=net.brokers.addresses,
        client=ClientSettings(client_id="sink", timeout_ms=1_000),
        topic=topic,
        columns=sink_columns(SCHEMA, topic=topic),
        partitioner=DEFAULT_PARTITIONER,
        batch=SETTINGS,
    )
    return SinkTask(plan, producer, task=number, flush_bytes=flush)


def batches(*rows: Row, size: int = 2) -> list[pa.RecordBatch]:
    """Return the rows in record batches, as Spark hands them to a task."""
    kinds = [pa.string(), pa.int32(), pa.string(), pa.string()]
    return [
        pa.record_batch(
            [
                pa.array(column, kind)
                for column, kind in zip(zip(*part, strict=True), kinds, strict=True)
            ],
            names=SCHEMA.names,
        )
        for part in (rows[start : start + size] for start in range(0, len(rows), size))
    ]


def log(net: FakeNet, topic: str, partition: int) -> list[str]:
    """Return the values of a partition's log."""
    data = net.cluster.log(TopicPartition(topic, partition)).read(0, 1 << 24)
    records = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 24).records
    return [(record.value or b"").decode() for record in records]


def test_rows_go_to_the_partition_that_they_name(net: FakeNet, producer: BatchProducer) -> None:
    """Rows go to the partition in their column, else by key, else round-robin."""
    rows: list[Row] = [
        ("a", 2, "k", "two"),
        ("b", None, "k", "keyed"),
        ("b", None, None, "one"),
        ("b", None, None, "two"),
    ]
    tally = task(net, producer, number=4).write(batches(*rows))
    assert log(net, "a", 2) == ["two"]
    by_key = text_hash(b"k") % 3
    assert "keyed" in log(net, "b", by_key)
    assert "one" in log(net, "b", 1)
    assert "two" in log(net, "b", 2)
    assert tally.total() == 4
    assert tally[TopicPartition("a", 2)] == 1


def test_the_topic_option_overrides_the_rows(net: FakeNet, producer: BatchProducer) -> None:
    """The topic option overrides the topic in the rows."""
    task(net, producer, topic="a").write(batches(("b", 0, None, "x"), (None, 0, None, "y")))
    assert log(net, "a", 0) == ["x", "y"]
    assert log(net, "b", 0) == []


def test_memory_is_bounded_and_order_kept(net: FakeNet, producer: BatchProducer) -> None:
    """Buffered rows are written once they are large enough, in order, and all are counted."""
    rows: list[Row] = [("a", 0, None, f"{number:04}") for number in range(100)]
    tally = task(net, producer, flush=300).write(batches(*rows, size=7))
    assert log(net, "a", 0) == [f"{number:04}" for number in range(100)]
    produced = [request for request in net.brokers[0].requests if request.api_key == ApiKey.PRODUCE]
    assert len(produced) == 10
    assert tally == {TopicPartition("a", 0): 100}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((None, None, None, "x"), "row 3 of this task .* its topic is null"),
        (("c", None, None, "x"), "row 3 of this task .* topic c does not exist"),
        (("a", 3, None, "x"), "partition 3 of topic a is not there, only 0 to 2"),
        (("a", -1, None, "x"), "partition -1 of topic a is not there"),
    ],
)
def test_bad_rows_fail_the_task(
    net: FakeNet, producer: BatchProducer, bad: Row, message: str
) -> None:
    """An invalid row fails the task with its number, the reason, and how many were written."""
    net.cluster.auto_create = True
    good: Row = ("a", 0, None, "x")
    with pytest.raises(RowRefused, match=message) as caught:
        task(net, producer, flush=1).write(batches(good, good, bad))
    assert "2 rows of the task were written before it, and 0 buffered rows were not" in str(
        caught.value
    )
    assert sorted(net.cluster.topics) == ["a", "b"]


def test_a_topic_that_is_created_meanwhile_is_found(net: FakeNet, producer: BatchProducer) -> None:
    """A topic that was created after the task began is looked up when a row names it."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield from batches(("a", 0, None, "x"))
        net.cluster.create_topic("late")
        yield from batches(("late", None, None, "y"))

    task(net, producer).write(rows())
    assert log(net, "late", 0) == ["y"]


def test_refused_rows_fail_the_task(net: FakeNet, producer: BatchProducer) -> None:
    """If a broker rejects rows the task fails; it never goes on without them."""
    net.brokers[0].script(ApiKey.PRODUCE, *[Fail(ErrorCode.NOT_ENOUGH_REPLICAS)] * 3)
    with pytest.raises(WriteFailed, match=r"1 record not acknowledged.*NOT_ENOUGH_REPLICAS"):
        task(net, producer).write(batches(("a", 0, None, "x")))


def test_without_rows_nothing_is_sent(net: FakeNet, producer: BatchProducer) -> None:
    """A task without rows sends no request."""
    assert task(net, producer).write([]).total() == 0
    assert net.brokers[0].requests == []
