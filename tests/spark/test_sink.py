"""Rows written to brokers of 0.8 are all there, or the query fails and says why."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tests.spark.conftest import Brokers
from tests.spark.queries import Topic
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.produce.partitioner import KeyHash, murmur_hash, text_hash
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

Contents = list[tuple[str, int, bytes | None, bytes | None]]


def write(cluster: Sandbox, frame: DataFrame, **options: object) -> None:
    """Append the rows; dots in option names are written as two underscores."""
    named = {name.replace("__", "."): str(value) for name, value in options.items()}
    writer = frame.write.format("zkconsumer").options(**named)
    writer.option("zookeeper.connect", cluster.zookeeper_connect).mode("append").save()


def messages(spark: SparkSession, cluster: Sandbox, *topics: str) -> DataFrame:
    """Return a query of all messages of the topics."""
    return (
        spark.read.format("zkconsumer")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("subscribe", ",".join(topics))
        .load()
    )


def contents(spark: SparkSession, cluster: Sandbox, *topics: str) -> Contents:
    """Return topic, partition, key and value of all messages of the topics, in log order."""
    frame = messages(spark, cluster, *topics).orderBy("topic", "partition", "offset")
    return [(row.topic, row.partition, row.key, row.value) for row in frame.collect()]


def topic(cluster: Sandbox, partitions: int = 1, replication: int = 1) -> str:
    """Create a fresh topic, and return its name."""
    name = fresh_name("sink")
    cluster.create_topic(name, partitions=partitions, replication=replication)
    return name


def message_count(cluster: Sandbox, name: str, partitions: int) -> int:
    """Return how many messages a topic has, according to its leaders."""
    bootstrap = parse_bootstrap("brokers", cluster.bootstrap_servers)
    with ClusterReader(ClusterAddress(bootstrap=bootstrap)) as reader:
        return sum(reader.latest([TopicPartition(name, at) for at in range(partitions)]).values())


@pytest.mark.parametrize(
    ("options", "hash_of"),
    [
        ({}, text_hash),
        (
            {
                "kafka__compression__type": "snappy",
                "kafka__partitioner__class": (
                    "org.apache.kafka.clients.producer.internals.DefaultPartitioner"
                ),
            },
            murmur_hash,
        ),
    ],
)
def test_keyed_rows(
    spark: SparkSession, cluster: Sandbox, options: dict[str, str], hash_of: KeyHash
) -> None:
    """Each row is once in the partition that the chosen partitioner gives its key."""
    name = topic(cluster, 3)
    frame = spark.range(500).selectExpr("concat('user-', id % 40) key", "cast(id as string) value")
    write(cluster, frame, topic=name, **options)
    found = contents(spark, cluster, name)
    assert sorted(int(value or b"") for _, _, _, value in found) == list(range(500))
    assert all(partition == hash_of(key or b"") % 3 for _, partition, key, _ in found)


def test_rows_that_name_topic_and_partition(spark: SparkSession, cluster: Sandbox) -> None:
    """Null and empty values stay what they are; rows of a task keep their order."""
    topic_1, topic_2 = sorted([topic(cluster, 2), topic(cluster, 2)])
    rows = [
        (topic_1, 1, None, bytearray(b"a")),
        (topic_1, 1, bytearray(b"k"), None),
        (topic_2, 0, bytearray(b""), bytearray(b"")),
        (topic_1, 1, None, bytearray(b"c")),
    ]
    frame = spark.createDataFrame(
        rows, "topic string, partition int, key binary, value binary"
    ).coalesce(1)
    write(cluster, frame)
    assert contents(spark, cluster, topic_1, topic_2) == [
        (topic_1, 1, None, b"a"),
        (topic_1, 1, b"k", None),
        (topic_1, 1, None, b"c"),
        (topic_2, 0, b"", b""),
    ]


def test_a_stream_is_mirrored(spark: SparkSession, cluster: Sandbox, tmp_path: Path) -> None:
    """A stream copies partition to partition into another topic, with the source's columns."""
    source = Topic(cluster, 2)
    source.write(60)
    name = topic(cluster, 2)
    query = (
        source.stream(spark, {"maxOffsetsPerTrigger": 50})
        .drop("topic")
        .writeStream.format("zkconsumer")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("topic", name)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = contents(spark, cluster, name)
    assert [(at, (value or b"").decode()) for _, at, _, value in found] == [
        (partition, value) for partition, _, value in source.rows
    ]
    source.close()


def test_updates_are_written_batch_by_batch(
    spark: SparkSession, cluster: Sandbox, tmp_path: Path
) -> None:
    """Where Spark refuses output mode ``update``, ``foreachBatch`` writes the rows that changed."""
    source = Topic(cluster, 2)
    source.write(20)
    name = topic(cluster)

    def save(batch: DataFrame, _batch_id: int) -> None:
        write(cluster, batch.selectExpr("string(partition) key", "string(count) value"), topic=name)

    for _ in range(2):
        counts = source.stream(spark).groupBy("partition").count().writeStream.foreachBatch(save)
        counts.outputMode("update").option("checkpointLocation", str(tmp_path)).trigger(
            availableNow=True
        ).start().awaitTermination()
        source.write(5, partition=1)
    assert sorted(content[2:] for content in contents(spark, cluster, name)) == [
        (b"0", b"20"),
        (b"1", b"20"),
        (b"1", b"25"),
    ]
    source.close()


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        ({"topic": "nowhere-to-be-found"}, "value", "topic: the cluster has no topic nowhere"),
        ({}, "value", "no topic is given: set the option topic, or add a column topic"),
        ({"topic": "t"}, "value as text", "there is no column value to write, only text"),
        ({"topic": "t"}, "cast(id as int) value", "column value is of type int"),
        ({"topic": "t", "kafka__acks": 0}, "value", "kafka.acks is '0': it must be all, -1 or 1"),
        ({"topic": "t", "kafka__key__serializer": "x"}, "value", "kafka.key.serializer: it is not"),
    ],
)
def test_bad_queries_fail_before_any_task(
    spark: SparkSession, cluster: Sandbox, options: dict[str, object], columns: str, message: str
) -> None:
    """The driver refuses them with one clear sentence, and nothing is created."""
    frame = spark.range(3).selectExpr("id", "cast(id as string) value").selectExpr(columns)
    with pytest.raises(AnalysisException, match=message):
        write(cluster, frame, **options)


def test_topics_cant_be_overwritten(spark: SparkSession, cluster: Sandbox) -> None:
    """A mode that would have to delete messages is refused."""
    writer = spark.range(3).selectExpr("cast(id as string) value").write.format("zkconsumer")
    options = {"topic": topic(cluster), "zookeeper.connect": cluster.zookeeper_connect}
    with pytest.raises(AnalysisException, match="a topic can't be overwritten; use mode"):
        writer.options(**options).mode("overwrite").save()


def test_a_bad_row_fails_the_query(spark: SparkSession, cluster: Sandbox) -> None:
    """It is not skipped: the error says which row it is, and what is wrong with it."""
    name = topic(cluster)
    frame = spark.range(5).selectExpr(
        "cast(id as string) value", "cast(if(id = 3, 7, 0) as int) partition"
    )
    with pytest.raises(Exception, match=f"row 4 of this task .* partition 7 of topic {name}"):
        write(cluster, frame.coalesce(1), topic=name)


def test_a_leader_dies_while_rows_are_written(spark: SparkSession, brokers: Brokers) -> None:
    """No row is lost; those whose acknowledgement was lost may be there twice."""
    cluster = brokers.cluster
    name = topic(cluster, 3, replication=2)
    count = 100_000
    frame = spark.range(count).selectExpr("rpad(cast(id as string), 300) value")
    before: list[int] = []

    def kill() -> None:
        before.append(
            wait_until(lambda: message_count(cluster, name, 3), timeout_s=90, what="rows")
        )
        cluster.kill_broker(0)

    scope = ThreadScope("killer")
    scope.spawn("killer", kill, stop=lambda: None)
    try:
        write(cluster, frame, topic=name)
    finally:
        late = scope.close(120_000)
        if before:
            cluster.start_broker(0)
    assert late == []
    assert scope.first_error() is None
    assert 0 < before[0] < count
    # The JVM computes it: in Python it would take longer than to write the rows.
    numbers = messages(spark, cluster, name).selectExpr("int(trim(string(value))) number")
    [found] = numbers.selectExpr(
        "count(*)",
        "count(*) - count(number)",
        "count(distinct number)",
        "min(number)",
        "max(number)",
    ).collect()
    assert found[0] >= count
    assert found[1:] == (0, count, 0, count - 1)
