"""Reads what a rebalance computes from, in six pipelined batches however large the group is."""

from collections.abc import Callable

from zkconsumer.model import Broker
from zkconsumer.zk.group_values import BrokerList, GroupSnapshot, GroupWatches
from zkconsumer.zk.nodes import (
    Malformed,
    Registration,
    parse_broker,
    parse_registration,
    parse_topic,
)
from zkconsumer.zk.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    GroupPaths,
    broker_path,
    is_topic_name,
    topic_path,
)
from zkconsumer.zk.store import Watch, ZkStore

Expand = Callable[[Registration, frozenset[str]], tuple[str, ...]]
"""The topics that a registration means, given the names of all topics."""


def read_group(
    store: ZkStore, paths: GroupPaths, *, watches: GroupWatches, expand: Expand
) -> GroupSnapshot:
    """Read members, brokers, topics; see ``GroupRegistry.read_group``."""
    consumer_ids = store.children_many([paths.ids], watch=watches.members)[0] or []
    all_topics = store.children_many([BROKER_TOPICS], watch=watches.topic_list)[0] or []
    brokers = read_brokers(store, watches.brokers)
    nodes = store.get_many([paths.member(one) for one in consumer_ids])
    parsed = {
        consumer_id: parse_registration(node.data)
        for consumer_id, node in zip(consumer_ids, nodes, strict=True)
        if node is not None  # it left between the list and the read: its watch has fired
    }
    members = {one: it for one, it in parsed.items() if isinstance(it, Registration)}
    names = frozenset(all_topics)
    wanted = {topic for registration in members.values() for topic in expand(registration, names)}
    topics, malformed_topics = _read_topics(store, wanted, watches.topics)
    return GroupSnapshot(
        members=members,
        malformed_members={k: v.reason for k, v in parsed.items() if isinstance(v, Malformed)},
        unreadable_by_scala={k: v.scala_problem for k, v in members.items() if v.scala_problem},
        brokers=brokers.brokers,
        malformed_brokers=brokers.malformed,
        topics=topics,
        malformed_topics=malformed_topics,
        all_topics=names,
    )


def read_brokers(store: ZkStore, watch: Watch | None) -> BrokerList:
    """Read the brokers' registrations; see ``GroupRegistry.read_brokers``."""
    names = store.children_many([BROKER_IDS], watch=watch)[0] or []
    ids = [int(name) for name in names if name.isascii() and name.isdigit()]
    malformed: dict[int, str] = {}
    strange = [name for name in names if not (name.isascii() and name.isdigit())]
    if strange:
        malformed[-1] = f"{BROKER_IDS} holds {strange!r}: a broker's name is its number"
    brokers = []
    for broker_id, node in zip(ids, store.get_many([broker_path(one) for one in ids]), strict=True):
        found = None if node is None else parse_broker(broker_id, node.data)
        if isinstance(found, Broker):
            brokers.append(found)
        elif isinstance(found, Malformed):
            malformed[broker_id] = found.reason
    return BrokerList(brokers=tuple(sorted(brokers)), malformed=malformed)


def _read_topics(
    store: ZkStore, wanted: set[str], watch: Watch
) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    topics: dict[str, tuple[int, ...]] = dict.fromkeys(sorted(wanted), ())
    malformed = {one: "no topic can have this name" for one in wanted if not is_topic_name(one)}
    legal = [topic for topic in topics if topic not in malformed]
    nodes = store.get_many([topic_path(topic) for topic in legal], watch=watch)
    for topic, node in zip(legal, nodes, strict=True):
        partitions = () if node is None else parse_topic(node.data)
        if isinstance(partitions, Malformed):
            malformed[topic] = partitions.reason
        else:
            topics[topic] = partitions
    return topics, malformed
