"""The Spark driver's view of a real 0.8.2.2 cluster."""

import time

import pytest

from tests.support.clusters import fresh_name
from tests.support.set_producer import Producer
from tests.support.waiting import wait_until
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.subscription import TopicPattern, Topics
from zkconsumer.zk.kazoo_store import connect

pytestmark = pytest.mark.sandbox

FILE_TIMES_MS = 1_100
"""File modification times may be whole seconds."""


def reader_of(address: ClusterAddress) -> ClusterReader:
    """Create a reader with a short retry interval."""
    return ClusterReader(address, retry_interval_ms=200)


def write_some(cluster: Sandbox, tp: TopicPartition, count: int) -> int:
    """Write records of 100 bytes, each in a set of its own; return the offset after the last."""
    producer = Producer(cluster.brokers)
    try:
        last = [producer.send(tp, [Record(0, None, b"x" * 100)]) for _ in range(count)][-1]
    finally:
        producer.close()
    return last + 1


def test_three_brokers_are_read_as_one_cluster(cluster3: Sandbox) -> None:
    """Brokers found in ZooKeeper, or through a given broker, give the same view."""
    topic = fresh_name("planned")
    cluster3.create_topic(topic, partitions=6)
    tps = tuple(TopicPartition(topic, number) for number in range(6))
    ends = {tp: write_some(cluster3, tp, tp.partition + 1) for tp in tps}
    broker = cluster3.brokers[1]
    for address in (
        ClusterAddress(zookeeper_connect=cluster3.zookeeper_connect),
        ClusterAddress(bootstrap=(Broker(-1, broker.host, broker.port),)),
    ):
        with reader_of(address) as reader:
            assert reader.partitions(Topics((topic,))) == tps
            assert reader.partitions(TopicPattern(f"{topic[:-1]}.")) == tps
            assert reader.brokers() == cluster3.brokers
            assert len(set(reader.leaders(tps).values())) == 3
            assert reader.earliest(tps) == dict.fromkeys(tps, 0)
            assert reader.latest(tps, known=ends) == ends


def test_a_topic_that_is_missing_stays_missing() -> None:
    """These brokers create every topic that a metadata request names, so none is sent."""
    with Sandbox(auto_create_topics=True) as cluster:
        address = ClusterAddress(zookeeper_connect=cluster.zookeeper_connect)
        with reader_of(address) as reader:
            with pytest.raises(ConfigError, match="no topic missing"):
                reader.partitions(Topics(("missing",)))
            assert reader.partitions(TopicPattern("missing")) == ()
        store = connect(
            cluster.zookeeper_connect, session_timeout_ms=6_000, connection_timeout_ms=6_000
        )
        try:
            assert store.exists_many(["/brokers/topics/missing"]) == [None]
        finally:
            store.close()


def test_a_time_is_a_segment_on_the_safe_side(cluster: Sandbox) -> None:
    """Messages before a time are before the end offset, later ones are after the start offset."""
    topic = fresh_name("timed")
    cluster.create_topic(topic, config={"segment.bytes": "1000"})
    tp = TopicPartition(topic, 0)
    bootstrap = parse_bootstrap("brokers", cluster.bootstrap_servers)
    with reader_of(ClusterAddress(bootstrap=bootstrap)) as reader:
        before = write_some(cluster, tp, 20)
        since_ms = time.time_ns() // 1_000_000
        wait_until(
            lambda: time.time_ns() // 1_000_000 > since_ms + FILE_TIMES_MS, what="the next second"
        )
        between_ms = time.time_ns() // 1_000_000
        after = write_some(cluster, tp, 20)
        start, end = (
            request({tp: between_ms})[tp] for request in (reader.at_time, reader.until_time)
        )
        assert 0 < start <= before
        assert before <= end < after
        assert reader.at_time({tp: 0}) == {tp: 0}
        assert reader.until_time({tp: 0})[tp] < before
        future_ms = between_ms + 3_600_000
        assert reader.at_time({tp: future_ms}) == reader.until_time({tp: future_ms}) == {tp: after}


def test_an_empty_log_has_both_ends_at_all_times(cluster: Sandbox) -> None:
    """Any time leads to its only offset."""
    topic = fresh_name("empty")
    cluster.create_topic(topic)
    tp = TopicPartition(topic, 0)
    with reader_of(ClusterAddress(zookeeper_connect=cluster.zookeeper_connect)) as reader:
        for time_ms in (0, time.time_ns() // 1_000_000, 2**62):
            assert reader.at_time({tp: time_ms}) == reader.until_time({tp: time_ms}) == {tp: 0}
        assert reader.earliest([tp]) == reader.latest([tp]) == {tp: 0}


def test_an_unreachable_zookeeper_is_an_error() -> None:
    """It has the address, and comes within the timeout."""
    port = pick_free(set())
    address = ClusterAddress(zookeeper_connect=f"127.0.0.1:{port}/kafka", connection_timeout_ms=300)
    with reader_of(address) as reader, pytest.raises(RegistryError, match=str(port)):
        reader.partitions(Topics(("t",)))
