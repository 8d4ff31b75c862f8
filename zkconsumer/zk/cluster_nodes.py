"""Parses the nodes in which brokers and their tools keep the state of the cluster itself. Pure.

Consumers don't read them: they are for monitoring. As in ``nodes``, every ``parse_`` function
accepts any bytes and returns a value or ``Malformed``; none raises.

Source: Kafka 0.8.2.2 ``ZkUtils``, ``LeaderAndIsr``, ``ReplicationUtils``, ``AdminUtils``,
``KafkaController``; Kafka 3.9 ``TopicPartitionStateZNode``, ``ControllerZNode``,
``ConfigEntityZNode``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.printable import shown
from zkconsumer.zk.json_dialect import JsonValue, Malformed, is_int, parse_object
from zkconsumer.zk.paths import BROKER_TOPICS

CONTROLLER: Final = "/controller"
"""The node that names the controller broker; ephemeral."""

DELETED_TOPICS: Final = "/admin/delete_topics"
"""The parent of one node for each topic that is to be deleted."""

TOPIC_CONFIGS: Final = "/config/topics"
"""The parent of the nodes with the settings of topics."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_TIMESTAMP = re.compile(r"[0-9]{1,19}")
_MAX_PORT = 65535


def state_path(topic: str, partition: int) -> str:
    """Return the path of a partition's state: its leader and in-sync replicas."""
    return f"{BROKER_TOPICS}/{topic}/partitions/{partition}/state"


def config_path(topic: str) -> str:
    """Return the path of a topic's own settings."""
    return f"{TOPIC_CONFIGS}/{topic}"


@dataclass(frozen=True, slots=True)
class PartitionStateNode:
    """A partition's leader and in-sync replicas.

    Attributes:
        leader: a broker id; None: no leader (-1), or the topic is being deleted (-2).
        in_sync: broker ids of the in-sync replicas, as listed.
    """

    leader: int | None
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """The fields of a broker's registration besides its address.

    Attributes:
        jmx_port: None if it serves no JMX.
        timestamp_ms: when it started, by its own clock; None if missing.
    """

    jmx_port: int | None
    timestamp_ms: int | None


def parse_partition_state(data: bytes) -> PartitionStateNode | Malformed:
    """Read a partition's state, in any version so far."""
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    leader, isr = parsed.fields.get("leader"), parsed.fields.get("isr")
    in_sync = _ids(isr)
    if not is_int(leader):
        return Malformed(f"its field 'leader' is not a number: {shown(leader)}")
    if in_sync is None:
        return Malformed(f"its field 'isr' is not a list of broker ids: {shown(isr)}")
    return PartitionStateNode(
        leader=leader if leader >= 0 else None,
        in_sync=in_sync,
    )


def parse_replicas(data: bytes) -> Mapping[int, tuple[int, ...]] | Malformed:
    """Read a topic's node: the replicas of each partition in order, by ascending partition."""
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    partitions = parsed.fields.get("partitions")
    if not isinstance(partitions, dict):
        return Malformed(f"its field 'partitions' is not an object: {shown(partitions)}")
    found: dict[int, tuple[int, ...]] = {}
    for name, value in partitions.items():
        replicas = _ids(value)
        if _NUMBER.fullmatch(name) is None or replicas is None:
            return Malformed(f"partition {shown(name)} has no list of broker ids: {shown(value)}")
        found[int(name)] = replicas
    return dict(sorted(found.items()))


def parse_broker_facts(data: bytes) -> BrokerFacts:
    """Read the fields that are valid; ``nodes.parse_broker`` decides whether the node is usable."""
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return BrokerFacts(None, None)
    port, timestamp = parsed.fields.get("jmx_port"), parsed.fields.get("timestamp")
    if isinstance(timestamp, str) and _TIMESTAMP.fullmatch(timestamp):
        timestamp = int(timestamp)
    return BrokerFacts(
        jmx_port=port if is_int(port) and 0 < port <= _MAX_PORT else None,
        timestamp_ms=timestamp if is_int(timestamp) else None,
    )


def parse_controller(data: bytes) -> int | Malformed:
    """Read the controller's broker id (0.8.0 wrote it without JSON)."""
    text = data.decode("ascii", "replace")
    if _NUMBER.fullmatch(text):
        return int(text)
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    broker_id = parsed.fields.get("brokerid")
    if not is_int(broker_id):
        return Malformed(f"its field 'brokerid' is not a number: {shown(broker_id)}")
    return broker_id


def parse_topic_config(data: bytes) -> Mapping[str, str] | Malformed:
    """Read the settings of a topic, in written order."""
    parsed = parse_object(data)
    if isinstance(parsed, Malformed):
        return parsed
    config = parsed.fields.get("config")
    if not isinstance(config, dict):
        return Malformed(f"its field 'config' is not an object: {shown(config)}")
    return {name: value if isinstance(value, str) else str(value) for name, value in config.items()}


def _ids(value: JsonValue) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    ids = tuple(number for number in value if is_int(number))
    return ids if len(ids) == len(value) else None
