"""Cluster snapshots built by tests."""

from collections.abc import Mapping

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.zk.nodes import Pattern


def member(member_id: str, streams: Mapping[str, int], session_id: int = 1) -> MemberStatus:
    """Return a valid member of a ZooKeeper group."""
    return MemberStatus(
        member_id=member_id, streams=streams, pattern=Pattern.STATIC, session_id=session_id
    )


def group_of(
    *partitions: GroupPartition,
    members: tuple[MemberStatus, ...] = (),
    kind: GroupKind = GroupKind.ZOOKEEPER,
    group_id: str = "g",
) -> GroupStatus:
    """Return a group with these partitions, in this order."""
    return GroupStatus(
        group_id=group_id,
        kind=kind,
        seen_ms=0,
        members=members,
        partitions=tuple(sorted(partitions, key=lambda partition: partition.topic_partition)),
    )


def topics_of(log_ends: Mapping[TopicPartition, int], at_ms: int) -> tuple[TopicStatus, ...]:
    """Return topics with these partitions and log ends."""
    names = sorted({tp.topic for tp in log_ends})
    return tuple(
        TopicStatus(
            name=name,
            seen_ms=at_ms,
            partitions=tuple(
                PartitionStatus(
                    topic_partition=tp,
                    leader=0,
                    log_start=0,
                    log_end=log_end,
                    offsets_at_ms=at_ms,
                )
                for tp, log_end in sorted(log_ends.items())
                if tp.topic == name
            ),
        )
        for name in names
    )


def snapshot_of(
    *groups: GroupStatus,
    at_ms: int,
    log_ends: Mapping[TopicPartition, int] | None = None,
    set_back_ms: int = 0,
) -> ClusterSnapshot:
    """Return a cluster with these groups and log ends, whose clock was set back by this much."""
    return ClusterSnapshot(
        taken_ms=at_ms,
        zookeeper_connect="zk:2181",
        topics=topics_of(log_ends or {}, at_ms),
        groups={group.key: group for group in groups},
        clock_ahead_ms=-set_back_ms,
    )
