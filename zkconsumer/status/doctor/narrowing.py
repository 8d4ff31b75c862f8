"""Reduces a snapshot to what concerns some groups (pure)."""

from collections.abc import Collection
from dataclasses import replace

from zkconsumer.status.model import ClusterSnapshot, GroupKey, TopicStatus


def about(snapshot: ClusterSnapshot, keys: Collection[GroupKey]) -> ClusterSnapshot:
    """Return the snapshot with these groups only, without failures and faulty topics of others.

    Groups of the other kind with the same ids remain, since each can disturb the other; so do
    topics without faults, which are needed to see what is missing.
    """
    ids = {key.group_id for key in keys}
    groups = {key: group for key, group in snapshot.groups.items() if key.group_id in ids}
    read = {topic for group in groups.values() for one in group.members for topic in one.streams}
    read |= {one.topic_partition.topic for group in groups.values() for one in group.partitions}
    there = {one.broker.id for one in snapshot.brokers}
    topics = tuple(one for one in snapshot.topics if one.name in read or _is_well(one, there))
    failures = tuple(one for one in snapshot.failures if one.group_id in {None, *ids})
    return replace(snapshot, groups=groups, topics=topics, failures=failures)


def _is_well(topic: TopicStatus, there: set[int]) -> bool:
    return bool(topic.partitions or topic.deleting) and not (
        topic.problem
        or any(
            one.under_replicated or one.problem or one.leader not in there
            for one in topic.partitions
        )
    )
