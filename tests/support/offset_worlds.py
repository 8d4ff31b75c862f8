"""Empty offset stores for the contract suite: all kinds, on fakes and on real servers."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.loopback import LoopbackServer
from tests.fakes.memory_transport import MemoryNetwork
from tests.fakes.memory_zk import MemoryZkServer
from tests.support.clusters import fresh_name
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.offsets.coordinator import (
    ChannelSettings,
    CoordinatorChannel,
    offset_dialer,
)
from zkconsumer.offsets.dual import DualOffsetStore
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.kazoo_store import connect

CLIENT_ID = "contract-tests"
PATIENT = ChannelSettings(timeout_ms=20_000, backoff_ms=50, limit_ms=60_000)

LANES = [
    "zookeeper",
    "kafka",
    "kafka-tcp",
    "both",
    "owned",
    pytest.param("zookeeper:cluster", marks=pytest.mark.sandbox),
    pytest.param("kafka:cluster", marks=pytest.mark.sandbox),
    pytest.param("both:cluster", marks=pytest.mark.sandbox),
    pytest.param("kafka:kafka_0_9", marks=pytest.mark.sandbox),
]
"""The kind of store, and after the colon the fixture of the real servers."""


@dataclass(frozen=True, slots=True)
class OffsetWorld:
    """An empty offset store, and existing topics.

    Attributes:
        offsets: the store of an unused group.
        topic: a topic with ``partitions`` partitions, or for which the store accepts so many.
        other: a topic with one partition.
    """

    offsets: OffsetStore
    topic: str
    other: str
    partitions: int

    @property
    def three(self) -> tuple[TopicPartition, TopicPartition, TopicPartition]:
        """Two partitions of ``topic``, and one of ``other``."""
        return (
            TopicPartition(self.topic, 0),
            TopicPartition(self.topic, 1),
            TopicPartition(self.other, 0),
        )


@contextmanager
def offset_world(lane: str, request: pytest.FixtureRequest) -> Iterator[OffsetWorld]:
    """Yield the world of a lane; close afterwards what it opened."""
    kind, _, fixture = lane.partition(":")
    with ExitStack() as stack:
        if fixture:
            sandbox: Sandbox = request.getfixturevalue(fixture)
            topic, other = fresh_name("offsets"), fresh_name("others")
            partitions = 12
            if kind == "zookeeper":
                # This store does not check that the partitions exist.
                partitions = 2_000
            else:
                sandbox.create_topic(topic, partitions)
                sandbox.create_topic(other)
            store = real_store(kind, sandbox, stack)
            # The first lookup of a coordinator creates the offsets topic: a fetch waits for that, a
            # commit without retries does not.
            store.fetch([TopicPartition(topic, 0)])
            yield OffsetWorld(store, topic, other, partitions)
        else:
            cluster = FakeCluster()
            cluster.create_topic("t", 2_000)
            cluster.create_topic("u")
            yield OffsetWorld(fake_store(kind, cluster, stack), "t", "u", 2_000)


def real_store(kind: str, sandbox: Sandbox, stack: ExitStack) -> OffsetStore:
    """Return a store of a new group on real servers."""
    group = fresh_name("group")
    in_kafka = KafkaOffsetStore(real_channel(sandbox, group, stack))
    if kind == "kafka":
        return in_kafka
    client = connect(
        sandbox.zookeeper_connect, session_timeout_ms=20_000, connection_timeout_ms=20_000
    )
    stack.callback(client.close)
    in_zookeeper = ZookeeperOffsetStore(client, group)
    return DualOffsetStore(in_kafka, in_zookeeper) if kind == "both" else in_zookeeper


def real_channel(
    sandbox: Sandbox,
    group: str,
    stack: ExitStack,
    settings: ChannelSettings = PATIENT,
    *,
    security: SecuritySettings = PLAINTEXT,
    ports: Sequence[Broker] | None = None,
) -> CoordinatorChannel:
    """Return a group's channel to its coordinator on real brokers, optionally by other ports."""
    channel = CoordinatorChannel(
        group,
        settings,
        list_brokers=lambda: ports or sandbox.brokers,
        dialer=offset_dialer(CLIENT_ID, settings.timeout_ms, security),
    )
    stack.callback(channel.close)
    return channel


def fake_store(kind: str, cluster: FakeCluster, stack: ExitStack) -> OffsetStore:
    """Return a store of group g on fakes."""
    in_zookeeper = ZookeeperOffsetStore(MemoryZkServer().connect(), "g")
    if kind == "zookeeper":
        return in_zookeeper
    all_ours = (lambda partitions: partitions) if kind == "owned" else None
    in_kafka = KafkaOffsetStore(fake_channel(kind, cluster, stack), still_ours=all_ours)
    return DualOffsetStore(in_kafka, in_zookeeper) if kind == "both" else in_kafka


def fake_channel(kind: str, cluster: FakeCluster, stack: ExitStack) -> CoordinatorChannel:
    """Return group g's channel to its coordinator among fake brokers, in memory or over TCP."""
    brokers = FakeBrokers(cluster)
    network = MemoryNetwork()
    if kind == "kafka-tcp":
        brokers.listen_on_loopback(stack.enter_context(LoopbackServer()))
    else:
        brokers.listen_in_memory(network)

    connector = None if kind == "kafka-tcp" else network
    dialer = offset_dialer(CLIENT_ID, PATIENT.timeout_ms, PLAINTEXT, connector=connector)
    channel = CoordinatorChannel(
        "g", PATIENT, list_brokers=lambda: brokers.addresses, dialer=dialer
    )
    stack.callback(channel.close)
    return channel
