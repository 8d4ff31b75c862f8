"""Leaves out of a snapshot what has nothing to do with some groups (pure)."""

from collections.abc import Collection
from dataclasses import replace

from zkconsumer.status.model import ClusterSnapshot, GroupKey, TopicStatus


def about(snapshot: ClusterSnapshot, keys: Collection[GroupKey]) -> ClusterSnapshot:
    """The snapshot, with these groups alone, and without what ails others, and topics of others.

    Groups of the other kind under the same ids stay, since each can disturb the other; so do topics
    that nothing is wrong with, by which one sees what is not there.
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
