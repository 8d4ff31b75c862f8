"""``KafkaUtils`` of Spark 1 and 2 on a real cluster: what the examples don't show."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.streaming import StreamingContext

from tests.spark.queries import Topic
from tests.support.waiting import wait_until
from zkconsumer.errors import ConfigError
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark import Broker, KafkaUtils, OffsetRange, TopicAndPartition

pytestmark = [
    pytest.mark.spark,
    pytest.mark.sandbox,
    pytest.mark.filterwarnings("ignore:DStream is deprecated:FutureWarning"),
]


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Give a topic with two partitions of 40 compressed messages each."""
    topic = Topic(cluster, 2)
    topic.write(40, codec=Codec.SNAPPY)
    yield topic
    topic.close()


def params(topic: Topic) -> dict[str, str]:
    """Return parameters under the names that old programs use."""
    brokers = topic.cluster.bootstrap_servers
    return {"metadata.broker.list": brokers, "auto.offset.reset": "smallest"}


def test_an_rdd_of_ranges(spark: SparkSession, topic: Topic) -> None:
    """The RDD has a partition for each range, in order, and the same rows whenever it is read.

    Decoders are applied, and the program may name a partition's leader.
    """
    ranges = [OffsetRange(topic.name, 1, 5, 20), OffsetRange(topic.name, 0, 39, 40)]
    [broker] = topic.cluster.brokers
    rdd = KafkaUtils.createRDD(
        spark.sparkContext,
        params(topic),
        ranges,
        {TopicAndPartition(topic.name, 1): Broker(broker.host, broker.port)},
        valueDecoder=lambda raw: raw,
    )
    wanted = {(partition, offset): value for partition, offset, value in topic.rows}
    first = [wanted[1, offset].encode() for offset in range(5, 20)]
    second = [wanted[0, 39].encode()]
    for _ in range(2):
        assert [[value for _, value in part] for part in rdd.glom().collect()] == [first, second]
    assert rdd.offsetRanges() == ranges


@pytest.mark.once
@pytest.mark.parametrize(
    ("start", "end", "partition", "message"),
    [
        (0, 41, 0, r"offsetRanges: not in the log: .*-0 \[0, 41\) \(the log has \[0, 40\)\)"),
        (7, 3, 0, "offsetRanges: .* ends before it starts"),
        (0, 1, 2, "offsetRanges: the cluster has no partition .*-2"),
    ],
)
def test_ranges_are_checked_on_the_driver(
    spark: SparkSession, topic: Topic, start: int, end: int, partition: int, message: str
) -> None:
    """Wrong ranges are refused before any task starts, and the error says what the log has."""
    ranges = [OffsetRange(topic.name, partition, start, end)]
    with pytest.raises(ConfigError, match=message):
        KafkaUtils.createRDD(spark.sparkContext, params(topic), ranges)


def test_a_direct_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """State and offsets outlive the context: each message is counted once."""
    checkpoint, counts = str(tmp_path / "checkpoint"), tmp_path / "counts"

    def save(rdd: object) -> None:
        counts.write_text(str(dict(rdd.collect()).get("all", 0)))  # type: ignore[attr-defined]

    def build() -> StreamingContext:
        ssc = StreamingContext(spark.sparkContext, 1)
        ssc.checkpoint(checkpoint)
        stream = KafkaUtils.createDirectStream(ssc, [topic.name], params(topic))
        ones = stream.map(lambda _pair: ("all", 1))
        ones.updateStateByKey(lambda new, old: sum(new) + (old or 0)).foreachRDD(save)
        return ssc

    for expected in ("80", "140"):
        ssc = StreamingContext.getOrCreate(checkpoint, build)
        ssc.start()
        try:
            wait_until(
                lambda: counts.exists() and counts.read_text() == expected,  # noqa: B023
                timeout_s=60,
                what=f"{expected} messages",
            )
        finally:
            ssc.stop(stopSparkContext=False, stopGraceFully=False)
        topic.write(30)
