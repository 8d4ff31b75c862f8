"""Reads brokers, topics and leaders from the brokers, by Metadata requests.

The first broker that responds is used. What only ZooKeeper knows is left unknown.
Source: Kafka 0.9.0.1 ``TopicMetadataRequest``, Kafka 3.9 ``MetadataCache``.
"""

import random
from collections.abc import Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient, Described
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import ConnectFailed
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.status.model import BrokerStatus, PartitionStatus, TopicStatus
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.kept import CLUSTER_PART_ALONE
from zkconsumer.status.reading.values import ClusterRead
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import PartitionMetadata, TopicMetadata

_TELLS_CONTROLLER: Final = 1
"""The first version of Metadata whose response names the controller."""
_LEAVES_OUT: Final = 0
"""The version of Metadata whose response omits offline replicas."""
_BACKOFF_MS: Final = 250
_WELL: Final = frozenset({ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE})
_TO_SAY_MS: Final = 500
"""How long before the deadline the client gives up, so that its error, with the reason, is used."""


class BrokerSource:
    """Reads brokers, topics and leaders from a broker, where ``ZookeeperSource`` can't be used.

    Thread: one at a time.

    Args:
        client: sends the requests; it knows the bootstrap brokers, and the caller stops it.
        clock: for the times of reading.
    """

    part: Final = CLUSTER_PART_ALONE
    requested: Final = "no broker"

    def __init__(self, client: ClusterClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def read(self, deadline: Deadline) -> ClusterRead:
        """Read brokers and topics until the deadline.

        Raises:
            ZkConsumerError: no broker responds, or the broker does not know its cluster yet.
        """
        left_ms = deadline.left_ms
        found = self._client.description(timeout_ms=max(1, left_ms - min(_TO_SAY_MS, left_ms // 5)))
        if not found.response.brokers:
            # A broker of 0.9 that has just started names no brokers; its topics can't be trusted.
            raise ConnectFailed("the broker does not know its cluster yet")
        return cluster_read(found, self._clock.wall_ms())


def client_of(
    dialer: BrokerDialer, bootstrap: Sequence[Broker], timeout_ms: int, clock: Clock | None = None
) -> ClusterClient:
    """Return a client of the cluster of these brokers; the caller stops it."""
    return ClusterClient(
        dialer,
        bootstrap,
        request_timeout_ms=timeout_ms,
        retry_backoff_ms=_BACKOFF_MS,
        clock=clock,
        shuffle=random.shuffle,
    )


def cluster_read(found: Described, now_ms: int) -> ClusterRead:
    """Convert a Metadata response to brokers and topics (pure)."""
    no_zookeeper = found.versions.no_zookeeper
    version = found.versions.version_for(ApiKey.METADATA)
    # In KRaft any broker can be named as controller; it forwards requests to the real one.
    tells_controller = version >= _TELLS_CONTROLLER and not no_zookeeper
    controller_id = found.response.controller_id
    # By id, since a response may list a broker twice.
    named = {broker.id: broker for broker in found.response.brokers}
    brokers = tuple(
        BrokerStatus(
            broker=Broker(broker.id, broker.host, broker.port),
            seen_ms=now_ms,
            is_controller=broker.id == controller_id if tells_controller else None,
        )
        for _, broker in sorted(named.items())
    )
    leaves_out = version == _LEAVES_OUT
    topics = {
        topic.topic: _topic(topic, now_ms, leaves_out=leaves_out) for topic in found.response.topics
    }
    return ClusterRead(brokers=brokers, topics=(*topics.values(),), no_zookeeper=no_zookeeper)


def _topic(topic: TopicMetadata, now_ms: int, *, leaves_out: bool) -> TopicStatus:
    named = {partition.partition: partition for partition in topic.partitions}
    return TopicStatus(
        name=topic.topic,
        seen_ms=now_ms,
        partitions=tuple(
            _partition(topic.topic, partition, leaves_out=leaves_out)
            for _, partition in sorted(named.items())
        ),
        config=None,
        deleting=None,
        problem=explained(topic.error_code) if topic.error_code else None,
    )


def _partition(topic: str, partition: PartitionMetadata, *, leaves_out: bool) -> PartitionStatus:
    leader = partition.leader if partition.leader >= 0 else None
    message = leader is not None and partition.error_code not in _WELL
    return PartitionStatus(
        topic_partition=TopicPartition(topic, partition.partition),
        leader=leader,
        replicas=partition.replicas,
        in_sync=partition.isr,
        problem=explained(partition.error_code) if message else None,
        lacks_replica=leaves_out and partition.error_code == ErrorCode.REPLICA_NOT_AVAILABLE,
    )
