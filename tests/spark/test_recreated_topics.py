"""Queries and drains notice a topic that was deleted and created again.

The new topic has more messages than were read of the old one, so offsets alone don't show it.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.support.clusters import fresh_name
from tests.support.stream_batches import Batches, run_to_end
from tests.support.traffic import write
from tests.support.zk_tree import ZkTree
from zkconsumer.drain import DrainSettings, drain
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.on_spark.launch import verify
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox, pytest.mark.timeout(400)]

OLD = [b"old %d" % number for number in range(200)]
NEW = [b"new %d" % number for number in range(500)]


def filled(cluster: Sandbox) -> TopicPartition:
    """Create a topic with the old messages."""
    tp = TopicPartition(fresh_name("again"), 0)
    cluster.create_topic(tp.topic)
    write(cluster, tp, OLD)
    return tp


def recreate(cluster: Sandbox, tp: TopicPartition) -> None:
    """Delete the topic, and create it again with more messages."""
    cluster.delete_topic(tp.topic)
    cluster.create_topic(tp.topic)
    write(cluster, tp, NEW)


@pytest.mark.parametrize("address", ["zookeeper", "brokers"], ids=["by ZooKeeper", "by topic id"])
def test_a_stream_stops_and_names_the_topic_or_reads_all_of_it(
    request: pytest.FixtureRequest, spark: SparkSession, checkpoint: str, address: str
) -> None:
    """``failOnDataLoss`` decides which; the group's offset of the old topic is not used."""
    cluster: Sandbox
    if address == "zookeeper":
        cluster = request.getfixturevalue("cluster")
    else:
        cluster = request.getfixturevalue("broker_of")("2.8.2")
    tp, group = filled(cluster), fresh_name("group")
    where = {"zookeeper.connect": cluster.zookeeper_connect}
    if address == "brokers":
        where = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    options = {**where, "subscribe": tp.topic, "startingOffsets": "earliest"}
    if address == "zookeeper":
        options |= {"group.id": group, "commitOffsetsTo": "zookeeper"}
    before = Batches()
    run_to_end(spark, options, before, checkpoint)
    assert [value for _, _, value in before.found] == OLD
    recreate(cluster, tp)
    with pytest.raises(StreamingQueryException, match=f"{tp} from offset 200 on is lost: the topi"):
        run_to_end(spark, options, Batches(), checkpoint)
    after = Batches()
    run_to_end(spark, {**options, "failOnDataLoss": "false"}, after, checkpoint)
    assert [(offset, value) for _, offset, value in after.found] == list(enumerate(NEW))
    write(cluster, tp, [b"next"])
    last = Batches()
    run_to_end(spark, options, last, checkpoint)
    assert last.found == [(tp, 500, b"next")]
    if address == "zookeeper":
        assert ZkTree(cluster).offset(group, tp) == 501


def test_a_query_that_starts_at_a_groups_offsets(cluster: Sandbox, spark: SparkSession) -> None:
    """An offset of the old topic is ignored: the query starts at the earliest, as without one."""
    tp, group = filled(cluster), fresh_name("group")
    ZkTree(cluster).put(f"/consumers/{group}/offsets/{tp.topic}/0", b"200")
    recreate(cluster, tp)
    options = {
        "zookeeper.connect": cluster.zookeeper_connect,
        "subscribe": tp.topic,
        "startingOffsets": "group",
        "group.id": group,
    }
    rows = spark.read.format("zkconsumer").options(**options).load()
    assert rows.count() == 500


def test_a_drain_stops_and_names_the_topic(
    cluster: Sandbox, spark: SparkSession, tmp_path: Path
) -> None:
    """The drain stops whatever ``failOnDataLoss`` says.

    Verify doesn't take the new topic for a proof of the rows that were read from the old one.
    """
    tp = filled(cluster)
    settings = DrainSettings(
        path=str(tmp_path / "lake"),
        zookeeper=cluster.zookeeper_connect,
        topics=(tp.topic,),
        group=fresh_name("drain"),
    )
    assert drain(spark, settings).rows == 200
    storage = HadoopStorage(spark, settings.path)
    against = {"zookeeper.connect": cluster.zookeeper_connect}
    assert verify(spark, storage, cluster=against).outcome is ProofOutcome.PROVEN
    recreate(cluster, tp)
    for fail_on_data_loss in (True, False):
        again = replace(settings, fail_on_data_loss=fail_on_data_loss)
        with pytest.raises(DrainError, match=rf"recreated .*: {tp.topic}: .*up to 200"):
            drain(spark, again)
    assert spark.read.parquet(settings.path).count() == 200
    assert ZkTree(cluster).offset(settings.group or "", tp) == 200
    proof = verify(spark, storage, cluster=against)
    assert proof.outcome is not ProofOutcome.PROVEN
    assert "its topic was deleted and created again" in as_text(proof)
