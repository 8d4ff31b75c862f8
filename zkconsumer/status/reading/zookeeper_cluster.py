"""Reads brokers and topics from ZooKeeper, in a few batches, however many there are.

Leaders and in-sync replicas are read from the nodes that the controller writes, since in-sync
replicas may be stale in Metadata responses before 0.9 (KAFKA-1367).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.status.model import BrokerStatus, PartitionStatus, TopicStatus
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.kept import CLUSTER_PART
from zkconsumer.status.reading.node_batches import NodeBatches
from zkconsumer.status.reading.values import ClusterRead, Read, Unreadable
from zkconsumer.zk.cluster_nodes import (
    CONTROLLER,
    DELETED_TOPICS,
    PartitionStateNode,
    config_path,
    parse_broker_facts,
    parse_controller,
    parse_partition_state,
    parse_replicas,
    parse_topic_config,
    state_path,
)
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.live_brokers import why_no_brokers
from zkconsumer.zk.nodes import parse_broker
from zkconsumer.zk.paths import BROKER_IDS, BROKER_TOPICS, broker_path, is_number, topic_path
from zkconsumer.zk.store import ZkStore, ZNode

_NO_ADDRESS: Final = ("", -1)
_NO_NODE: Final = Malformed("it has no state node, which names its leader")


class ZookeeperSource:
    """Reads brokers, topics and leaders from ZooKeeper. Thread: one at a time.

    Args:
        store: the connection to ZooKeeper.
        zookeeper_connect: its connect string, for the message when there is no broker.
        clock: for the times of reading.
        protocol: the security protocol, which selects the brokers' listeners.
    """

    part: Final = CLUSTER_PART
    """The part of a snapshot that fails if this can't be read."""
    requested: Final = "ZooKeeper"
    """The server to name if there is no response in time."""

    def __init__(
        self,
        store: ZkStore,
        zookeeper_connect: str,
        clock: Clock,
        protocol: SecurityProtocol = "PLAINTEXT",
    ) -> None:
        self._protocol: SecurityProtocol = protocol
        self._store = store
        self._zookeeper_connect = zookeeper_connect
        self._clock = clock

    def read(self, deadline: Deadline) -> ClusterRead:
        """Read brokers and topics until the deadline.

        Raises:
            RegistryError: they could not be listed in time.
        """
        nodes = NodeBatches(self._store, deadline)
        brokers = read_brokers(nodes, self._clock.wall_ms(), self._protocol)
        topics = read_topics(nodes, self._clock.wall_ms())
        why = None if brokers else why_no_brokers(self._store, self._zookeeper_connect)
        return ClusterRead(brokers=brokers, topics=topics, no_brokers=why)


def read_brokers(
    nodes: NodeBatches, now_ms: int, protocol: SecurityProtocol = "PLAINTEXT"
) -> tuple[BrokerStatus, ...]:
    """Return the registered brokers, ascending by id; other nodes are ignored.

    Raises:
        RegistryError: they could not be listed.
    """
    names = nodes.listed(BROKER_IDS)
    ids = sorted({int(name) for name in names if is_number(name)})
    controller, *found = nodes.get([CONTROLLER, *map(broker_path, ids)])
    controller_id = parse_controller(controller.data) if isinstance(controller, ZNode) else None
    return tuple(
        _broker(broker_id, node, now_ms, protocol, is_controller=broker_id == controller_id)
        for broker_id, node in zip(ids, found, strict=True)
        if node is not None  # deleted between the list and the read
    )


def read_topics(nodes: NodeBatches, now_ms: int) -> tuple[TopicStatus, ...]:
    """Return all topics, in the order of ZooKeeper, without the offsets of their logs.

    Assignments can depend on that order, see ``filters.expand``.

    Raises:
        RegistryError: they could not be listed.
    """
    names = nodes.listed(BROKER_TOPICS, as_listed=True)
    deleting = set(nodes.listed(DELETED_TOPICS))
    found = nodes.get([*map(topic_path, names), *map(config_path, names)])
    replicas = {
        name: _replicas(node)
        for name, node in zip(names, found[: len(names)], strict=True)
        if node is not None
    }
    configs = dict(zip(names, found[len(names) :], strict=True))
    states = _read_states(nodes, replicas)
    return tuple(
        TopicStatus(
            name=name,
            seen_ms=now_ms,
            partitions=() if isinstance(of_topic, str) else _partitions(name, of_topic, states),
            config=_config(configs[name]),
            deleting=name in deleting,
            problem=of_topic if isinstance(of_topic, str) else None,
        )
        for name, of_topic in replicas.items()
    )


def _broker(
    broker_id: int,
    node: ZNode | Unreadable,
    now_ms: int,
    protocol: SecurityProtocol,
    *,
    is_controller: bool,
) -> BrokerStatus:
    nowhere = Broker(broker_id, *_NO_ADDRESS)
    if isinstance(node, Unreadable):
        return BrokerStatus(
            broker=nowhere, seen_ms=now_ms, is_controller=is_controller, problem=node.reason
        )
    address = parse_broker(broker_id, node.data, protocol)
    facts = parse_broker_facts(node.data)
    return BrokerStatus(
        broker=nowhere if isinstance(address, Malformed) else address,
        seen_ms=now_ms,
        is_controller=is_controller,
        jmx_port=facts.jmx_port,
        registered_ms=facts.timestamp_ms,
        created_ms=node.ctime_ms,
        problem=address.reason if isinstance(address, Malformed) else None,
    )


def _replicas(node: ZNode | Unreadable) -> Mapping[int, tuple[int, ...]] | str:
    """Return the replicas of each partition, or why they are unknown."""
    if isinstance(node, Unreadable):
        return node.reason
    found = parse_replicas(node.data)
    return found.reason if isinstance(found, Malformed) else found


def _config(node: Read[ZNode]) -> Mapping[str, str]:
    found = parse_topic_config(node.data) if isinstance(node, ZNode) else {}
    return {} if isinstance(found, Malformed) else found


def _read_states(
    nodes: NodeBatches, replicas: Mapping[str, Mapping[int, tuple[int, ...]] | str]
) -> Mapping[TopicPartition, PartitionStateNode | Malformed]:
    partitions: Sequence[TopicPartition] = [
        TopicPartition(name, number)
        for name, of_topic in replicas.items()
        if not isinstance(of_topic, str)
        for number in of_topic
    ]
    # Most partitions have identical data.
    parsed: dict[bytes, PartitionStateNode | Malformed] = {}
    states: dict[TopicPartition, PartitionStateNode | Malformed] = {}
    for tp, node in zip(partitions, nodes.get([state_path(*tp) for tp in partitions]), strict=True):
        if node is None:
            states[tp] = _NO_NODE
        elif isinstance(node, Unreadable):
            states[tp] = Malformed(node.reason)
        else:
            if node.data not in parsed:
                parsed[node.data] = parse_partition_state(node.data)
            states[tp] = parsed[node.data]
    return states


def _partitions(
    topic: str,
    replicas: Mapping[int, tuple[int, ...]],
    states: Mapping[TopicPartition, PartitionStateNode | Malformed],
) -> tuple[PartitionStatus, ...]:
    found = []
    for number, assigned in replicas.items():
        tp = TopicPartition(topic, number)
        state = states[tp]
        if isinstance(state, Malformed):
            one = PartitionStatus(
                topic_partition=tp, leader=None, replicas=assigned, problem=state.reason
            )
        else:
            one = PartitionStatus(
                topic_partition=tp, leader=state.leader, replicas=assigned, in_sync=state.in_sync
            )
        found.append(one)
    return tuple(found)
