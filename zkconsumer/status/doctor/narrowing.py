"""Reduces a snapshot to the data that concerns some groups (pure)."""

from collections.abc import Collection
from dataclasses import replace

from zkconsumer.status.model import ClusterSnapshot, GroupKey, TopicStatus


def restrict_to(snapshot: ClusterSnapshot, keys: Collection[GroupKey]) -> ClusterSnapshot:
    """Return the snapshot with these groups only, without failures and faulty topics of others.

    Groups of the other kind with the same ids remain, since each can disturb the other; so do
    topics without faults, which are needed to see what is missing.
    """
    ids = {key.group_id for key in keys}
    groups = {key: group for key, group in snapshot.groups.items() if key.group_id in ids}
    read = {tp.topic for group in groups.values() for tp in group.by_partition}
    read = read.union(*(group.topics_read for group in groups.values()))
    there = {broker.broker.id for broker in snapshot.brokers}
    topics = tuple(
        topic for topic in snapshot.topics if topic.name in read or _is_well(topic, there)
    )
    failures = tuple(failure for failure in snapshot.failures if failure.group_id in {None, *ids})
    return replace(snapshot, groups=groups, topics=topics, failures=failures)


def _is_well(topic: TopicStatus, there: set[int]) -> bool:
    return bool(topic.partitions or topic.deleting) and not (
        topic.problem
        or any(
            partition.under_replicated or partition.problem or partition.leader not in there
            for partition in topic.partitions
        )
    )
