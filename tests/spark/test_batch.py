"""Batch queries on a real cluster: columns, rows, ranges, tasks."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.interop.mixed_group import MixedGroup
from tests.spark.queries import Topic, rows_of, set_group_offsets
from tests.support.set_producer import Producer
from zkconsumer.model import Record
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Create four partitions with different codecs, each with 30 messages in three sets."""
    topic = Topic(cluster, 4)
    for number, codec in enumerate(CODECS):
        for _ in range(3):
            topic.write(10, codec=codec, partition=number)
    yield topic
    topic.close()


def test_the_columns_are_those_of_sparks_own_source(spark: SparkSession, topic: Topic) -> None:
    """Names and types are equal, all nullable; headers only exist if requested."""
    plain = (
        "key BINARY,value BINARY,topic STRING,partition INT,offset BIGINT,timestamp TIMESTAMP,"
        "timestampType INT"
    )
    headers = ",headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    assert topic.read(spark).schema == StructType.fromDDL(plain)
    with_headers = topic.read(spark, {"includeHeaders": True})
    assert with_headers.schema == StructType.fromDDL(plain + headers)
    assert with_headers.filter("headers is null").count() == len(topic.rows)


def test_every_message_is_one_row(spark: SparkSession, topic: Topic) -> None:
    """The codec does not matter, nor whether a partition is one task or many."""
    assert rows_of(topic.read(spark)) == topic.rows
    in_many = topic.read(spark, {"minPartitions": 12})
    assert in_many.rdd.getNumPartitions() == 12
    assert rows_of(in_many) == topic.rows
    in_small = topic.read(spark, {"maxRecordsPerPartition": 7})
    assert in_small.rdd.getNumPartitions() == 20
    assert rows_of(in_small) == topic.rows


def test_what_a_message_of_0_8_lacks_is_null(spark: SparkSession, cluster: Sandbox) -> None:
    """It has no time, and perhaps no key; an empty value is not null."""
    records = [Record(0, None, b""), Record(0, b"k", None)]
    with closing(Topic(cluster)) as topic, closing(Producer(cluster.brokers)) as producer:
        producer.send(topic.partitions[0], records)
        rows = [tuple(row) for row in topic.read(spark).orderBy("offset").collect()]
        name = topic.name
    assert rows == [(None, b"", name, 0, 0, None, -1), (b"k", None, name, 0, 1, None, -1)]


def test_offset_options_limit_what_is_read(spark: SparkSession, topic: Topic) -> None:
    """Offsets may be inside compressed sets; -2 and -1 are the ends; times mean segments."""
    name = topic.name
    start = f'{{"{name}":{{"0":5,"1":-2,"2":29,"3":30}}}}'
    end = f'{{"{name}":{{"0":25,"1":13,"2":-1,"3":30}}}}'
    bounds = {0: (5, 25), 1: (0, 13), 2: (29, 30), 3: (30, 30)}
    frame = topic.read(spark, {"startingOffsets": start, "endingOffsets": end})
    assert rows_of(frame) == [
        row for row in topic.rows if bounds[row[0]][0] <= row[1] < bounds[row[0]][1]
    ]
    assert topic.read(spark, {"startingTimestamp": 1000}).count() == len(topic.rows)
    assert topic.read(spark, {"startingTimestamp": 1000, "endingTimestamp": 2000}).count() in {
        0,
        len(topic.rows),
    }


def test_assign_and_subscribe_pattern_select_what_is_read(
    spark: SparkSession, topic: Topic
) -> None:
    """They work with brokers instead of ZooKeeper, too."""
    plain = {
        "kafka.bootstrap.servers": topic.cluster.bootstrap_servers,
        "kafka.client.id": "other name",
    }
    assigned = spark.read.format("zkconsumer").options(**plain, assign=f'{{"{topic.name}":[1,3]}}')
    assert rows_of(assigned.load()) == [row for row in topic.rows if row[0] in {1, 3}]
    matching = spark.read.format("zkconsumer").options(**plain, subscribePattern=f"{topic.name}.*")
    assert rows_of(matching.load()) == topic.rows
    nothing = spark.read.format("zkconsumer").options(**plain, subscribePattern="no such topic")
    assert nothing.load().count() == 0


def test_a_schema_leaves_columns_out(spark: SparkSession, topic: Topic) -> None:
    """Columns that are not in it are not created."""
    schema = StructType([StructField("offset", LongType()), StructField("topic", StringType())])
    frame = topic.read(spark, schema=schema)
    assert frame.columns == ["offset", "topic"]
    assert sorted(row.offset for row in frame.collect()) == sorted(row[1] for row in topic.rows)


def test_filters_leave_tasks_out(spark: SparkSession, topic: Topic) -> None:
    """With Spark's setting on, excluded partitions and offsets are not even fetched."""
    session = spark.newSession()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    frame = topic.read(session)
    assert frame.rdd.getNumPartitions() == 4
    some = frame.filter(
        "partition in (1, 2) and offset >= 20 and offset <> 25 and value is not null"
    )
    assert some.rdd.getNumPartitions() == 2
    expected = [row for row in topic.rows if row[0] in {1, 2} and row[1] >= 20 and row[1] != 25]
    assert rows_of(some) == expected
    assert rows_of(topic.read(spark).filter("partition in (1, 2) and offset >= 20")) == [
        row for row in topic.rows if row[0] in {1, 2} and row[1] >= 20
    ]
    assert frame.filter("topic = 'another'").count() == 0


def test_a_batch_starts_at_the_groups_offsets(
    spark: SparkSession, topic: Topic, group: MixedGroup
) -> None:
    """Partitions without a committed offset are read from their beginning."""
    set_group_offsets(topic.cluster, group.name, topic.name, {0: 30, 1: 12})
    frame = topic.read(spark, {"startingOffsets": "group", "group.id": group.name})
    starts = {0: 30, 1: 12, 2: 0, 3: 0}
    assert rows_of(frame) == [row for row in topic.rows if row[1] >= starts[row[0]]]
    assert group.peek.offsets(topic.name) == {0: "30", 1: "12"}
