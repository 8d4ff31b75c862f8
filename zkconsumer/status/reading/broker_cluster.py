"""Brokers, topics and leaders by the word of the brokers: what Metadata tells.

It is asked of one broker, whichever answers first. What only ZooKeeper could tell is left unknown.
Source: Kafka 0.9.0.1 ``TopicMetadataRequest``, Kafka 3.9 ``MetadataCache``.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final, Self

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
"""The first version of Metadata that names the controller."""
_LEAVES_OUT: Final = 0
"""The version that leaves replicas out which are away."""
_BACKOFF_MS: Final = 250
_WELL: Final = frozenset({ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE})
_TO_SAY_MS: Final = 500
"""How much sooner than the deadline the client gives up, so that it says itself why."""


class BrokerSource:
    """A ``ClusterSource``. Thread: one at a time; ``close``: any.

    Args:
        client: asks; it knows the bootstrap brokers.
        clock: when things were seen.
        end: what to do when this is closed, such as stopping the client.
    """

    part: Final = CLUSTER_PART_ALONE
    requested: Final = "no broker"

    def __init__(
        self, client: ClusterClient, clock: Clock, *, end: Callable[[], None] = lambda: None
    ) -> None:
        self._client = client
        self._clock = clock
        self._end = end

    @classmethod
    def of(
        cls, dialer: BrokerDialer, bootstrap: Sequence[Broker], timeout_ms: int, clock: Clock
    ) -> Self:
        """Return one with a client of its own.

        Args:
            dialer: the way to the brokers.
            bootstrap: those to begin with.
            timeout_ms: how long one may take for one response.
            clock: when things were seen.
        """
        client = ClusterClient(
            dialer,
            bootstrap,
            request_timeout_ms=timeout_ms,
            retry_backoff_ms=_BACKOFF_MS,
            clock=clock,
            shuffle=random.shuffle,
        )
        return cls(client, clock, end=client.stop)

    def read(self, deadline: Deadline) -> ClusterRead:
        """See ``ClusterSource``.

        Raises:
            ZkConsumerError: no broker answers, or none that knows its cluster.
        """
        left_ms = deadline.left_ms
        found = self._client.description(timeout_ms=max(1, left_ms - min(_TO_SAY_MS, left_ms // 5)))
        if not found.response.brokers:
            # One of 0.9 that has just started says so of all; that would be believed.
            raise ConnectFailed("the broker that was asked knows of no brokers yet")
        return cluster_read(found, self._clock.wall_ms())

    def close(self) -> None:
        """See ``ClusterSource``."""
        self._end()


def cluster_read(found: Described, now_ms: int) -> ClusterRead:
    """Return what a broker said, as a cluster's brokers and topics (pure).

    Args:
        found: its response about all that there is.
        now_ms: when it came.
    """
    no_zookeeper = found.versions.no_zookeeper
    version = found.versions.version_for(ApiKey.METADATA)
    # Without a ZooKeeper any broker is named, which passes on what the controller is to do.
    tells_controller = version >= _TELLS_CONTROLLER and not no_zookeeper
    controller_id = found.response.controller_id
    # By what names them: nothing keeps a broker from naming one twice.
    named = {one.id: one for one in found.response.brokers}
    brokers = tuple(
        BrokerStatus(
            broker=Broker(one.id, one.host, one.port),
            seen_ms=now_ms,
            is_controller=one.id == controller_id if tells_controller else None,
        )
        for _, one in sorted(named.items())
    )
    leaves_out = version == _LEAVES_OUT
    topics = {
        one.topic: _topic(one, now_ms, leaves_out=leaves_out) for one in found.response.topics
    }
    return ClusterRead(brokers=brokers, topics=(*topics.values(),), no_zookeeper=no_zookeeper)


def _topic(topic: TopicMetadata, now_ms: int, *, leaves_out: bool) -> TopicStatus:
    named = {one.partition: one for one in topic.partitions}
    return TopicStatus(
        name=topic.topic,
        seen_ms=now_ms,
        partitions=tuple(
            _partition(topic.topic, one, leaves_out=leaves_out) for _, one in sorted(named.items())
        ),
        config=None,
        deleting=None,
        problem=explained(topic.error_code) if topic.error_code else None,
    )


def _partition(topic: str, one: PartitionMetadata, *, leaves_out: bool) -> PartitionStatus:
    leader = one.leader if one.leader >= 0 else None
    message = leader is not None and one.error_code not in _WELL
    return PartitionStatus(
        topic_partition=TopicPartition(topic, one.partition),
        leader=leader,
        replicas=one.replicas,
        in_sync=one.isr,
        problem=explained(one.error_code) if message else None,
        lacks_replica=leaves_out and one.error_code == ErrorCode.REPLICA_NOT_AVAILABLE,
    )
