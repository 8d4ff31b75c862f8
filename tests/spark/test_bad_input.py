"""Bad input: one error on the driver that names the option, before any task starts."""

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.queries import Options, Topic
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

UNREACHABLE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Create a topic with one partition of ten messages."""
    topic = Topic(cluster)
    topic.write(10)
    yield topic
    topic.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"assign": '{"t":[0]}'}, "exactly one of subscribe, subscribePattern, assign"),
        ({"startingOffsets": '{"t":{"0":'}, 'startingOffsets: \'{"t":{"0":\' is no JSON'),
        ({"kafka.auto.offset.reset": "smallest"}, "kafka.auto.offset.reset: it is not supported"),
        ({"minPartitions": "many"}, "minPartitions is 'many'"),
        ({"commitOffsetsTo": "zookeeper"}, "commitOffsetsTo is zookeeper: that needs group.id"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_options_are_checked_when_the_query_is_defined(
    spark: SparkSession, topic: Topic, options: Options, message: str
) -> None:
    """``load()`` raises at once."""
    with pytest.raises(AnalysisException) as refused:
        topic.read(spark, options)
    assert f"KafkaConfigurationError: {message}" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "latest"}, "KafkaConfigurationError: startingOffsets is latest"),
        (
            {"subscribe": "no-such-topic", "fetchOffset.retryIntervalMs": "1"},
            "KafkaConfigurationError: subscribe: the cluster has no topic",
        ),
        (
            {"startingOffsets": '{"TOPIC":{"0":11}}'},
            "KafkaConfigurationError: startingOffsets of TOPIC-0 is 11, which is after the end",
        ),
        (
            {"endingOffsets": '{"TOPIC":{"0":11}}'},
            "KafkaConfigurationError: endingOffsets of TOPIC-0 is 11, which is after the end",
        ),
        (
            {"startingOffsets": '{"TOPIC":{"1":0}}'},
            "KafkaConfigurationError: startingOffsets must name every partition",
        ),
        (
            {"zookeeper.connect": UNREACHABLE, "zookeeper.connection.timeout.ms": 700},
            f"RegistryError: no ZooKeeper server of zookeeper.connect={UNREACHABLE} responded",
        ),
        (
            {"kafka.bootstrap.servers": UNREACHABLE, "fetchOffset.retryIntervalMs": 1},
            "NoBrokersAvailable: no broker responded",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_missing_topics_and_offsets_are_errors_before_any_task(
    spark: SparkSession, topic: Topic, options: dict[str, str], message: str
) -> None:
    """Planning raises, no job starts, and no topic is created by the lookup."""
    named = {key: str(text).replace("TOPIC", topic.name) for key, text in options.items()}
    group = f"bad input {message}"
    spark.sparkContext.setJobGroup(group, "must start nothing")
    with pytest.raises(PySparkException) as refused:
        topic.read(spark, named).collect()
    assert message.replace("TOPIC", topic.name) in str(refused.value)
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(group)) == []
    spark.sparkContext.setJobGroup("", "")


def test_a_missing_column_is_named(spark: SparkSession, topic: Topic) -> None:
    """So is a column with another type."""
    for ddl, message in [("price INT", "no column 'price'"), ("offset INT", "offset is bigint")]:
        reader = spark.read.format("zkconsumer").options(**topic.options()).schema(ddl)
        with pytest.raises(PySparkException) as refused:
            reader.load().collect()
        assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingOffsets": "latest"}, "endingOffsets: a streaming query has no end"),
        (
            {"zookeeper.connect": UNREACHABLE, "zookeeper.connection.timeout.ms": 700},
            f"RegistryError: no ZooKeeper server of zookeeper.connect={UNREACHABLE} responded",
        ),
    ],
    ids=["an end", "a dead ZooKeeper"],
)
def test_a_stream_that_cannot_start_raises_the_reason(
    spark: SparkSession, topic: Topic, checkpoint: str, options: Options, message: str
) -> None:
    """The query ends with it before its first batch."""

    def run() -> None:
        writer = topic.stream(spark, options).writeStream.format("noop")
        writer.option("checkpointLocation", checkpoint).start().awaitTermination()

    with pytest.raises((StreamingQueryException, AnalysisException)) as refused:
        run()
    assert message in str(refused.value)
