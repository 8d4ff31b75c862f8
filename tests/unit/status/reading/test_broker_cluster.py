"""Brokers and topics as read from a broker's Metadata response."""

import pytest

from tests.support.scripted_cluster import ScriptedCluster
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import Described
from zkconsumer.cluster.view import from_metadata
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed
from zkconsumer.model import TopicPartition
from zkconsumer.status.reading.broker_cluster import BrokerSource, cluster_read
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.values import ClusterRead
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import (
    MetadataBroker,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from zkconsumer.wire.negotiation import BrokerVersions
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

NOW_MS = 1_000


def partition(number: int, leader: int, error: int = 0) -> PartitionMetadata:
    """Return a partition with replicas 1 and 2, of which 1 is in sync."""
    return PartitionMetadata(
        error_code=error, partition=number, leader=leader, replicas=(1, 2), isr=(1,)
    )


def read(
    *topics: TopicMetadata, last: int = 12, controller: int = 2, no_zookeeper: bool = False
) -> ClusterRead:
    """Return what is read of a broker that serves Metadata up to this version."""
    response = MetadataResponse(
        brokers=(
            MetadataBroker(id=2, host="b2", port=9092),
            MetadataBroker(id=1, host="b1", port=9092),
        ),
        controller_id=controller,
        topics=topics,
    )
    versions = BrokerVersions(
        common={ApiKey.METADATA: VersionRange(0, last)}, release=(3, 9), no_zookeeper=no_zookeeper
    )
    return cluster_read(
        Described(response, from_metadata(response, version=last), versions), NOW_MS
    )


def test_brokers_are_sorted_and_have_their_controller() -> None:
    """Brokers are sorted, with their controller; what only ZooKeeper has is unknown."""
    found = read()
    assert [
        (broker.broker.id, broker.broker.host, broker.is_controller) for broker in found.brokers
    ] == [
        (1, "b1", False),
        (2, "b2", True),
    ]
    assert {(broker.seen_ms, broker.created_ms, broker.jmx_port) for broker in found.brokers} == {
        (NOW_MS, None, None)
    }
    assert found.no_brokers is None


@pytest.mark.parametrize(("last", "no_zookeeper"), [(0, False), (12, True)])
def test_a_controller_that_brokers_do_not_name_is_unknown(last: int, *, no_zookeeper: bool) -> None:
    """The controller is unknown for 0.9, which names none, and without a ZooKeeper.

    Brokers without a ZooKeeper name any broker as the controller.
    """
    found = read(last=last, no_zookeeper=no_zookeeper)
    assert [broker.is_controller for broker in found.brokers] == [None, None]
    assert found.no_zookeeper is no_zookeeper


def test_a_cluster_without_a_controller_is_known_as_such() -> None:
    """A cluster without a controller is known as such if brokers name one."""
    assert [broker.is_controller for broker in read(controller=-1).brokers] == [False, False]


def test_a_topic_has_leaders_and_replicas_and_no_guesses() -> None:
    """Partitions are sorted, with leader and replicas; configs and deletion are unknown."""
    parts = (partition(1, -1, ErrorCode.LEADER_NOT_AVAILABLE), partition(0, 1))
    [topic] = read(TopicMetadata(error_code=0, topic="t", partitions=parts)).topics
    assert (topic.config, topic.deleting, topic.problem) == (None, None, None)
    first, second = topic.partitions
    assert (first.topic_partition, first.leader, first.in_sync) == (TopicPartition("t", 0), 1, (1,))
    assert first.under_replicated
    assert (second.leader, second.problem) == (None, None)


def test_error_codes_of_topics_and_partitions_become_problems() -> None:
    """Error codes of topics and partitions become problems with the code's name."""
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    unsupported = TopicMetadata(error_code=0, topic="t", partitions=(partition(0, 1, denied),))
    closed = TopicMetadata(error_code=denied, topic="u", partitions=())
    first, second = read(unsupported, closed).topics
    assert "TOPIC_AUTHORIZATION_FAILED" in (first.partitions[0].problem or "")
    assert "TOPIC_AUTHORIZATION_FAILED" in (second.problem or "")


@pytest.mark.parametrize(("last", "lacks"), [(0, True), (1, False)])
def test_a_replica_that_is_omitted_counts_as_missing(last: int, *, lacks: bool) -> None:
    """In version 0 an offline replica is omitted, and the partition still is under-replicated."""
    code = ErrorCode.REPLICA_NOT_AVAILABLE
    metadata = PartitionMetadata(error_code=code, partition=0, leader=1, replicas=(1,), isr=(1,))
    [topic] = read(TopicMetadata(error_code=0, topic="t", partitions=(metadata,)), last=last).topics
    [found] = topic.partitions
    assert (found.under_replicated, found.problem) == (lacks, None)


def test_topics_and_partitions_that_are_named_twice_count_once() -> None:
    """A topic or partition that a broker names twice counts once."""
    twice = TopicMetadata(error_code=0, topic="t", partitions=(partition(0, 1), partition(0, 2)))
    [topic] = read(twice, twice).topics
    assert [
        partition_status.topic_partition.partition for partition_status in topic.partitions
    ] == [0]


def test_a_broker_that_knows_no_brokers_is_an_error() -> None:
    """A broker that knows of no brokers is an error: all topics would seem to be gone."""
    cluster = ScriptedCluster(leaders={TopicPartition("t", 0): 0})
    empty = MetadataResponse(brokers=(), topics=())
    for broker in cluster.brokers:
        broker.become(BrokerGeneration.V0_9)
        broker.response = lambda frame: empty if frame.api_key is ApiKey.METADATA else None
    client = cluster.client()
    source = BrokerSource(client, SystemClock())
    try:
        with pytest.raises(ConnectFailed, match="does not know its cluster"):
            source.read(Deadline(SystemClock(), 1_000))
    finally:
        client.stop()
