"""A query's committed offsets in Kafka, through brokers alone: 0.8.2 to Kafka 4, also secured."""

from contextlib import closing

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kraft_topics import create_topic
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.spark.address import read_address
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.group_progress import open_progress

pytestmark = pytest.mark.sandbox


def commit_and_read(topic: str, options: dict[str, str]) -> None:
    """Check that each query starts at the offset that the former one committed."""
    tp, group = TopicPartition(topic, 0), fresh_name("g")
    address = read_address(options)
    for before, after in ((None, 3), (3, 5)):
        with (
            closing(ClusterReader(address)) as cluster,
            closing(open_progress(group, "kafka", address, cluster)) as progress,
        ):
            assert progress.committed([tp]) == {tp: before}
            progress.commit({tp: after})
            assert progress.committed([tp]) == {tp: after}


@pytest.mark.parametrize("version", ["0.8.2.2", "2.8.2"])
def test_on_brokers_of_the_zookeeper_era(broker_of: BrokerOf, version: str) -> None:
    """Their ZooKeeper is not needed."""
    cluster, topic = broker_of(version), fresh_name("progress")
    cluster.create_topic(topic)
    commit_and_read(topic, {"kafka.bootstrap.servers": cluster.bootstrap_servers})


def test_on_kafka_4(kraft: KraftNode) -> None:
    """It serves none of the request versions that 0.8.2 has."""
    topic = fresh_name("progress")
    create_topic(kraft, topic)
    commit_and_read(topic, {"kafka.bootstrap.servers": kraft.bootstrap_servers})


def test_on_a_secured_cluster() -> None:
    """The options are those for reading rows."""
    with Sandbox("2.8.2", security="scram") as cluster:
        topic = fresh_name("progress")
        cluster.create_topic(topic)
        commit_and_read(
            topic,
            {
                "kafka.bootstrap.servers": cluster.access.bootstrap_servers,
                **cluster.access.settings,
            },
        )
