"""A state with a group that reads ten thousand partitions, for which pages must stay small."""

from dataclasses import replace
from typing import Final

from tests.support.page_world import NOW_MS, state_at
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState

LARGE: Final = GroupKey(GroupKind.ZOOKEEPER, "large")


def large_state(topics: int = 500, partitions: int = 20, members: int = 60) -> ClusterState:
    """Return a state with one group that reads everything, and has idle members."""
    names = [f"topic-{topic:04}" for topic in range(topics)]
    everything = [
        TopicPartition(name, partition) for name in names for partition in range(partitions)
    ]
    group = GroupStatus(
        group_id=LARGE.group_id,
        kind=LARGE.kind,
        seen_ms=NOW_MS,
        state=GroupState.STABLE,
        members=tuple(
            MemberStatus(member_id=f"large_h{member:02}", streams=dict.fromkeys(names, 1))
            for member in range(members)
        ),
        partitions=tuple(
            GroupPartition(
                tp,
                owner=f"large_h{tp.partition:02}-0",
                committed=(CommittedOffset(40, "zookeeper", NOW_MS),),
                log_start=0,
                log_end=100,
                log_at_ms=NOW_MS,
            )
            for tp in everything
        ),
    )
    snapshot = ClusterSnapshot(
        taken_ms=NOW_MS,
        zookeeper_connect="zk:2181",
        topics=tuple(
            TopicStatus(
                name=name,
                seen_ms=NOW_MS,
                partitions=tuple(
                    PartitionStatus(topic_partition=TopicPartition(name, partition), leader=0)
                    for partition in range(partitions)
                ),
            )
            for name in names
        ),
        groups={LARGE: group},
    )
    memory = Memory()
    memory.record(snapshot)
    return replace(state_at(0), snapshot=snapshot, judgements=Judgements(snapshot, None, memory))
