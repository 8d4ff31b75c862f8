"""A query and the group that it commits to, with legacy tools and members."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.interop.mixed_group import MixedGroup
from tests.interop.test_scala_tools import ROW, checker_rows
from tests.spark.queries import Options, Topic, batch_sizes, committed_in_kafka, landed
from tests.support.waiting import wait_until
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.address import ClusterAddress

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Create two partitions of 20 messages."""
    topic = Topic(cluster, 2)
    topic.write(20)
    yield topic
    topic.close()


def committing(group: MixedGroup, more: Options | None = None) -> Options:
    """Return options of a query that commits to the group."""
    return {"group.id": group.name, "commitOffsetsTo": "zookeeper", **(more or {})}


def test_a_legacy_consumer_takes_over_and_the_query_returns(
    spark: SparkSession, topic: Topic, group: MixedGroup, tmp_path: Path
) -> None:
    """The checker of 0.8 shows the query's offsets; each message is read by one of the two."""
    group.fresh = False  # the consumer must find offsets
    query = topic.drain(spark, tmp_path / "1", committing(group, {"maxOffsetsPerTrigger": 30}))
    assert batch_sizes(query) == [30, 10]
    assert landed(spark, tmp_path / "1") == topic.rows
    assert checker_rows(group) == [
        ROW.format(group.name, topic.name, number, 20, 20, 0, "none") for number in range(2)
    ]
    assert group.peek.registrations() == {}

    topic.write(5)
    member = group.scala(topic.name, options=("--max-messages", "10"))
    member.tool.wait()
    assert sorted(member.values) == sorted(value for _, at, value in topic.rows if at >= 20)

    topic.write(3)
    handed_back = committing(group, {"startingOffsets": "group"})
    topic.drain(spark, tmp_path / "2", handed_back)
    assert landed(spark, tmp_path / "2") == [row for row in topic.rows if row[1] >= 25]
    assert group.peek.offsets(topic.name) == {0: "28", 1: "28"}


def test_offsets_are_committed_to_kafka_if_the_group_has_them_there(
    spark: SparkSession, topic: Topic, group: MixedGroup, tmp_path: Path
) -> None:
    """``both`` is like members with ``dual.commit.enabled``; ``kafka`` needs no ZooKeeper."""
    brokers = {"kafka.bootstrap.servers": topic.cluster.bootstrap_servers}
    topic.drain(spark, tmp_path, committing(group, {"commitOffsetsTo": "both"}))
    assert group.peek.offsets(topic.name) == {0: "20", 1: "20"}
    assert in_kafka(topic, group) == [20, 20]
    topic.write(4)
    only_kafka = {"subscribe": topic.name, "group.id": group.name, "startingOffsets": "earliest"}
    reader = spark.readStream.format("zkconsumer").options(
        **brokers, **only_kafka, commitOffsetsTo="kafka"
    )
    writer = reader.load().writeStream.format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert in_kafka(topic, group) == [24, 24]
    assert group.peek.offsets(topic.name) == {0: "20", 1: "20"}


def in_kafka(topic: Topic, group: MixedGroup) -> list[int | None]:
    """Return each partition's committed offset in Kafka."""
    address = ClusterAddress(bootstrap=parse_bootstrap("brokers", topic.cluster.bootstrap_servers))
    return [committed_in_kafka(group.name, tp, address) for tp in topic.partitions]


def test_a_query_refuses_a_group_with_live_members(
    spark: SparkSession, topic: Topic, group: MixedGroup, tmp_path: Path
) -> None:
    """It names them, and plans nothing; ``allowLiveGroup`` permits it."""
    member = group.scala(topic.name, "at-work")
    group.await_settled([topic.name], ["at-work"])
    with pytest.raises(StreamingQueryException) as refused:
        topic.drain(spark, tmp_path, committing(group))
    assert f"group.id {group.name} has live members: {member.consumer_id}" in str(refused.value)
    assert "allowLiveGroup=true" in str(refused.value)
    assert list((tmp_path / "checkpoint" / "offsets").glob("*")) == []
    topic.drain(spark, tmp_path / "insists", committing(group, {"allowLiveGroup": True}))
    assert landed(spark, tmp_path / "insists") == topic.rows
    member.leave()


def test_a_query_stops_when_a_member_joins(
    spark: SparkSession, topic: Topic, group: MixedGroup, checkpoint: str
) -> None:
    """What it had committed by then stays."""
    group.fresh = False  # the consumer must find offsets
    query = running(spark, topic, checkpoint, committing(group))
    try:
        wait_until(
            lambda: group.peek.offsets(topic.name) == {0: "20", 1: "20"},
            timeout_s=60,
            what="the first commit",
        )
        member = group.scala(topic.name, "joins")
        group.await_settled([topic.name], ["joins"])
        wait_until(stopped(query), timeout_s=60, what="the end of the query")
        assert f"live members: {member.consumer_id}" in str(query.exception())
        member.leave()
        assert member.values == []
    finally:
        query.stop()


def running(spark: SparkSession, topic: Topic, checkpoint: str, options: Options) -> StreamingQuery:
    """Start a query that runs until it is stopped."""
    writer = topic.stream(spark, options).writeStream.format("noop")
    return writer.option("checkpointLocation", checkpoint).start()


def stopped(query: StreamingQuery) -> Callable[[], bool]:
    """Return a function that tells whether a query has ended."""
    return lambda: not query.isActive
