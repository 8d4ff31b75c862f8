"""Reads the input of a rebalance, in six pipelined batches for a group of any size."""

from collections.abc import Callable, Collection, Mapping

from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.security import SecurityProtocol
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.group_values import BrokerList, GroupSnapshot, GroupWatches
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import (
    Registration,
    parse_broker,
    parse_registration,
    parse_topic,
    registration_version,
)
from zkconsumer.zk.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    GroupPaths,
    broker_path,
    is_number,
    topic_path,
)
from zkconsumer.zk.store import Watch, ZkStore

Expand = Callable[[Registration, tuple[str, ...]], tuple[str, ...] | Malformed]
"""Returns the topics of a registration, given all topic names; or why they are unknown."""


def read_group(
    store: ZkStore,
    paths: GroupPaths,
    *,
    watches: GroupWatches,
    expand: Expand,
    own_topics: Collection[str],
    protocol: SecurityProtocol,
) -> GroupSnapshot:
    """Read members, brokers, topics; see ``GroupRegistry.read_group``."""
    consumer_ids = store.children_many([paths.ids], watch=watches.members)[0] or []
    [all_topics] = store.children_many([BROKER_TOPICS], watch=watches.topic_list, as_listed=True)
    brokers = read_brokers(store, watches.brokers, protocol)
    nodes = store.get_many([paths.member(consumer_id) for consumer_id in consumer_ids])
    parsed = {
        consumer_id: parse_registration(node.data)
        for consumer_id, node in zip(consumer_ids, nodes, strict=True)
        if node is not None  # it left between the list and the read: its watch has fired
    }
    names = tuple(all_topics or ())
    members, malformed = _expanded(paths, parsed, names, expand)
    wanted = {topic for _, topics in members.values() for topic in topics}
    # Others may name any number of topics that don't exist: that must cost no requests.
    to_read = {*names, *own_topics}
    topics, malformed_topics, czxids = _read_topics(store, wanted, to_read, watches.topics)
    return GroupSnapshot(
        members={consumer_id: registration for consumer_id, (registration, _) in members.items()},
        malformed_members=malformed,
        unreadable_by_scala={
            consumer_id: registration.scala_problem
            for consumer_id, (registration, _) in members.items()
            if registration.scala_problem
        },
        brokers=brokers.brokers,
        malformed_brokers=brokers.malformed,
        topics=topics,
        malformed_topics=malformed_topics,
        all_topics=names,
        topic_czxids=czxids,
    )


def _expanded(
    paths: GroupPaths,
    parsed: Mapping[str, Registration | Malformed],
    names: tuple[str, ...],
    expand: Expand,
) -> tuple[dict[str, tuple[Registration, tuple[str, ...]]], dict[str, str]]:
    """Return the members whose topics are known, and the reason and path of each of the others."""
    members: dict[str, tuple[Registration, tuple[str, ...]]] = {}
    malformed: dict[str, str] = {}
    for consumer_id, registration in parsed.items():
        if isinstance(registration, Registration):
            try:
                topics = expand(registration, names)
            except ConfigError as error:
                raise ConfigError(f"{paths.member(consumer_id)}: {error}") from error
            if not isinstance(topics, Malformed):
                members[consumer_id] = registration, topics
                continue
            registration = topics  # noqa: PLW2901 - malformed after all
        malformed[consumer_id] = f"{registration.reason}, in {paths.member(consumer_id)}"
    return members, malformed


_OLD_VERSIONS = (1, 2)
"""The registration versions of brokers of 0.8 and 0.9."""


def read_brokers(store: ZkStore, watch: Watch | None, protocol: SecurityProtocol) -> BrokerList:
    """Read the brokers' addresses for a protocol; see ``GroupRegistry.read_brokers``."""
    names = store.children_many([BROKER_IDS], watch=watch)[0] or []
    ids = [int(name) for name in names if is_number(name)]
    malformed: dict[int, str] = {}
    invalid = [name for name in names if not is_number(name)]
    if invalid:
        malformed[-1] = (
            f"{BROKER_IDS} holds {invalid!r}: the node of a broker is named by its number"
        )
    brokers = []
    versions: dict[int, int | None] = {}
    for broker_id, node in zip(
        ids, store.get_many([broker_path(broker_id) for broker_id in ids]), strict=True
    ):
        broker = None if node is None else parse_broker(broker_id, node.data, protocol)
        if node is not None:
            versions[broker_id] = registration_version(node.data)
        if isinstance(broker, Broker):
            brokers.append(broker)
        elif isinstance(broker, Malformed):
            malformed[broker_id] = broker.reason
    old_ids = frozenset(
        broker_id for broker_id, version in versions.items() if version in _OLD_VERSIONS
    )
    return BrokerList(
        brokers=tuple(sorted(brokers)),
        malformed=malformed,
        are_old=bool(versions) and len(old_ids) == len(versions),
        old_ids=old_ids,
    )


def _read_topics(
    store: ZkStore, wanted: set[str], to_read: set[str], watch: Watch
) -> tuple[dict[str, tuple[int, ...]], dict[str, str], dict[str, int]]:
    """Return ``topics``, ``malformed_topics`` and ``topic_czxids`` of ``GroupSnapshot``."""
    topics: dict[str, tuple[int, ...]] = dict.fromkeys(sorted(wanted), ())
    malformed = {
        topic: "it is not a valid topic name" for topic in wanted if not is_topic_name(topic)
    }
    legal = [topic for topic in topics if topic in to_read and topic not in malformed]
    czxids: dict[str, int] = {}
    nodes = store.get_many([topic_path(topic) for topic in legal], watch=watch)
    for topic, node in zip(legal, nodes, strict=True):
        if node is None:
            continue
        czxids[topic] = node.czxid
        partitions = parse_topic(node.data)
        if isinstance(partitions, Malformed):
            malformed[topic] = partitions.reason
        else:
            topics[topic] = partitions
    return topics, malformed, czxids
