"""Puts the parts of a snapshot together. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from zkconsumer.model import Broker
from zkconsumer.status.group_state import coordinator_state, zookeeper_state
from zkconsumer.status.model import (
    ClusterSnapshot,
    Committed,
    GroupKey,
    GroupPartition,
    GroupState,
    GroupStatus,
    PartitionStatus,
    Seen,
    TopicStatus,
)
from zkconsumer.status.reading.coordinator_answers import read_partitions
from zkconsumer.status.reading.kept import Kept
from zkconsumer.status.reading.values import GroupOffsets, LogSpan


def assemble(
    kept: Kept,
    *,
    now_ms: int,
    zookeeper_connect: str,
    clock_skew_ms: Seen[int] | None = None,
) -> ClusterSnapshot:
    """The snapshot of what is known now.

    A group that is in ZooKeeper, and of which a coordinator knows nothing but offsets, is one
    group: it commits to Kafka.
    """
    ids = kept.partition_ids()
    groups: dict[GroupKey, GroupStatus] = {}
    for name, group in sorted(kept.zookeeper_groups.items()):
        whole = _with_offsets(group, kept.offsets.get(name, {}), kept)
        state = zookeeper_state(whole, ids)
        keeper = _keeper(name, kept) if kept.offsets.get(name) else None
        groups[whole.key] = replace(whole, state=state, coordinator=keeper)
    for name, group in sorted(kept.coordinator_groups.items()):
        if name in kept.zookeeper_groups and not group.members and group.protocol is None:
            continue
        whole = _with_offsets(_with_read(group, ids or {}), kept.offsets.get(name, {}), kept)
        groups[whole.key] = replace(whole, state=_state_of(whole))
    return ClusterSnapshot(
        taken_ms=now_ms,
        zookeeper_connect=zookeeper_connect,
        brokers=kept.brokers,
        topics=tuple(_with_logs(topic, kept) for topic in kept.topics or ()),
        groups=groups,
        failures=kept.failures.all(),
        clock_skew_ms=clock_skew_ms,
    )


def _keeper(name: str, kept: Kept) -> Broker | None:
    """Who keeps the offsets of a ZooKeeper group."""
    listed = kept.coordinator_groups.get(name)
    return kept.keepers.get(name) or (listed.coordinator if listed is not None else None)


def _state_of(group: GroupStatus) -> GroupState:
    if group.reported_state is not None:
        return coordinator_state(group.reported_state)
    if group.problems:
        return GroupState.UNKNOWN
    # Listed without a state (before 2.6), and without members.
    return GroupState.EMPTY if group.partitions else GroupState.DEAD


def _with_logs(topic: TopicStatus, kept: Kept) -> TopicStatus:
    return replace(
        topic,
        partitions=tuple(
            _with_log(
                one,
                kept.spans.get(one.topic_partition),
                kept.log_problems.get(one.topic_partition),
            )
            for one in topic.partitions
        ),
    )


def _with_log(one: PartitionStatus, span: LogSpan | None, problem: str | None) -> PartitionStatus:
    return PartitionStatus(
        topic_partition=one.topic_partition,
        leader=one.leader,
        replicas=one.replicas,
        in_sync=one.in_sync,
        log_start=None if span is None else span.start,
        log_end=None if span is None else span.end,
        offsets_at_ms=None if span is None else span.at_ms,
        problem=one.problem or problem,
    )


def _with_read(group: GroupStatus, ids: Mapping[str, tuple[int, ...]]) -> GroupStatus:
    """The group with what its members read and nobody has."""
    lacking = read_partitions(group, ids) - {one.topic_partition for one in group.partitions}
    if not lacking:
        return group
    return replace(group, partitions=(*group.partitions, *map(GroupPartition, lacking)))


def _with_offsets(group: GroupStatus, in_kafka: GroupOffsets, kept: Kept) -> GroupStatus:
    """The group with offsets in Kafka, and with the ends of the logs."""
    known = {one.topic_partition for one in group.partitions}
    more = [GroupPartition(tp) for tp in in_kafka.keys() - known]
    spans = kept.spans
    return replace(
        group,
        partitions=tuple(
            _whole(one, in_kafka.get(one[0]), spans.get(one[0]))
            # By its first field alone: to compare more of them takes as long as all the rest.
            for one in sorted((*group.partitions, *more), key=lambda one: one[0])
        ),
    )


def _whole(
    one: GroupPartition, in_kafka: Committed | str | None, span: LogSpan | None
) -> GroupPartition:
    start, end, at_ms = span if span is not None else (None, None, None)
    committed, problem = one.committed, one.problem
    if isinstance(in_kafka, str):
        problem = in_kafka if problem is None else f"{problem}; {in_kafka}"
    elif in_kafka is not None:
        committed = (*committed, in_kafka)
    return GroupPartition(
        one.topic_partition,
        one.owner,
        one.owner_session,
        one.owner_since_ms,
        committed,
        start,
        end,
        at_ms,
        problem,
    )
