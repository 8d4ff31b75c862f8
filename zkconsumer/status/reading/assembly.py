"""Assembles the parts of a snapshot. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from zkconsumer.status.group_state import coordinator_state, zookeeper_state
from zkconsumer.status.model import (
    BrokersAlone,
    ClusterSnapshot,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    PartitionStatus,
    Seen,
    TopicStatus,
)
from zkconsumer.status.reading.coordinator_responses import read_partitions
from zkconsumer.status.reading.kept import Kept
from zkconsumer.status.reading.values import GroupOffsets, LogSpan, OffsetRead, UnreadOffset
from zkconsumer.status.silence import ABANDONED_AFTER_MS, with_abandonment


def assemble(  # noqa: PLR0913 - one fact a line, all by name
    kept: Kept,
    *,
    now_ms: int,
    through: str | BrokersAlone,
    sessions: Seen[frozenset[int]] | None = None,
    clock_skew_ms: Seen[int] | None = None,
    clock_ahead_ms: int = 0,
    abandoned_after_ms: int = ABANDONED_AFTER_MS,
) -> ClusterSnapshot:
    """Return the current snapshot.

    ``through`` is its source: ZooKeeper's connect string, or brokers only.

    A ZooKeeper group that commits to Kafka is one group, although a coordinator lists it, too.
    """
    ids = kept.partition_ids()
    live_sessions = _alive(kept, sessions)
    keys = [GroupKey(GroupKind.ZOOKEEPER, name) for name in sorted(kept.zookeeper_groups)]
    keys += [GroupKey(GroupKind.COORDINATOR, name) for name in sorted(kept.coordinator_groups)]
    alone: BrokersAlone | None = None
    if isinstance(through, BrokersAlone):
        alone = replace(through, no_zookeeper=kept.no_zookeeper)
    moment = _Moment(now_ms, clock_skew_ms, live_sessions, abandoned_after_ms, alone)
    return ClusterSnapshot(
        taken_ms=now_ms,
        zookeeper_connect=None if isinstance(through, BrokersAlone) else through,
        brokers=kept.brokers,
        topics=tuple(
            _with_logs(topic, kept)
            for topic in sorted(kept.topics or (), key=lambda topic: topic.name)
        ),
        groups={
            key: group for key in keys if (group := _group(key, kept, ids, moment)) is not None
        },
        failures=kept.failures.all(),
        live_sessions=live_sessions,
        clock_skew_ms=clock_skew_ms,
        clock_ahead_ms=clock_ahead_ms,
        no_brokers=kept.no_brokers,
        brokers_alone=alone,
    )


def reassemble(
    last: ClusterSnapshot,
    kept: Kept,
    keys: Collection[GroupKey],
    *,
    now_ms: int,
    abandoned_after_ms: int = ABANDONED_AFTER_MS,
) -> ClusterSnapshot:
    """Return the last snapshot with some groups, and the logs that they read, updated."""
    ids = kept.partition_ids()
    live_sessions = last.live_sessions
    if live_sessions is not None:
        # These groups may have sessions that began after the sessions were listed.
        live_sessions = live_sessions.union(
            *(_sessions(kept.group(key)) - _sessions(last.groups.get(key)) for key in keys)
        )
    moment = _Moment(
        now_ms, last.clock_skew_ms, live_sessions, abandoned_after_ms, last.brokers_alone
    )
    found = {key: _group(key, kept, ids, moment) for key in keys}
    groups = {key: group for key, group in {**last.groups, **found}.items() if group is not None}
    read = {
        partition.topic_partition.topic
        for group in found.values()
        if group is not None
        for partition in group.partitions
    }
    return replace(
        last,
        taken_ms=now_ms,
        groups={key: groups[key] for key in sorted(groups, key=_sort_key)},
        topics=tuple(
            _with_logs(topic, kept) if topic.name in read else topic for topic in last.topics
        ),
        failures=kept.failures.all(),
        live_sessions=live_sessions,
    )


def _sort_key(key: GroupKey) -> tuple[bool, str]:
    return key.kind is not GroupKind.ZOOKEEPER, key.group_id


def keep_newer(snapshot: ClusterSnapshot, last: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot, with groups that the last snapshot has newer taken from that one."""
    newer = {
        key: last.groups[key]
        for key, group in snapshot.groups.items()
        if key in last.groups and group.seen_ms < last.groups[key].seen_ms
    }
    if not newer:
        return snapshot
    live_sessions = snapshot.live_sessions
    if live_sessions is not None:
        live_sessions = live_sessions.union(*(group.sessions for group in newer.values()))
    groups = {**snapshot.groups, **newer}
    return replace(snapshot, groups=groups, live_sessions=live_sessions)


def _alive(kept: Kept, sessions: Seen[frozenset[int]] | None) -> frozenset[int] | None:
    """Return the listed sessions, and those of groups that were read after the list."""
    if sessions is None:
        return None
    groups = kept.zookeeper_groups.values()
    later = (group.sessions for group in groups if group.seen_ms > sessions.at_ms)
    return sessions.value.union(*later)


def _sessions(group: GroupStatus | None) -> frozenset[int]:
    return frozenset() if group is None else group.sessions


class _Moment(NamedTuple):
    """The time-dependent facts that a snapshot is assembled with."""

    now_ms: int
    skew: Seen[int] | None
    live_sessions: frozenset[int] | None
    abandoned_after_ms: int
    alone: BrokersAlone | None

    def state(self, group: GroupStatus) -> GroupState:
        """Return a coordinator's group state; unknown if its members may be in ZooKeeper."""
        if self.alone is not None and not self.alone.no_zookeeper and group.only_offsets:
            return GroupState.UNKNOWN
        return _state_of(group)

    def settle(self, group: GroupStatus, kept: Kept) -> GroupStatus:
        """Return the group with its last commit, and as abandoned if that is long ago."""
        return with_abandonment(
            group,
            now_ms=self.now_ms,
            skew_ms=0 if self.skew is None else self.skew.value,
            offsets_unchanged_since_ms=kept.offsets_unchanged_since_ms(group.group_id),
            abandoned_after_ms=self.abandoned_after_ms,
        )


def _group(
    key: GroupKey,
    kept: Kept,
    ids: Mapping[str, tuple[int, ...]] | None,
    moment: _Moment,
) -> GroupStatus | None:
    """Return the group to show; None if it is gone, or is shown as one of the other kind."""
    name, group = key.group_id, kept.group(key)
    if group is None:
        return None
    offsets = kept.offsets.get(name, {})
    if key.kind is GroupKind.ZOOKEEPER:
        whole = _with_offsets(group, offsets, kept)
        state = zookeeper_state(whole, ids, moment.live_sessions)
        coordinator = kept.coordinator_of_offsets(name) if offsets else None
        return moment.settle(replace(whole, state=state, coordinator=coordinator), kept)
    if name in kept.zookeeper_groups and not group.members and group.protocol is None:
        return None
    whole = _with_offsets(_with_read(group, ids or {}), offsets, kept)
    return moment.settle(replace(whole, state=moment.state(whole)), kept)


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
                partition,
                kept.spans.get(partition.topic_partition),
                kept.log_problems.get(partition.topic_partition),
            )
            for partition in topic.partitions
        ),
    )


def _with_log(
    partition: PartitionStatus, span: LogSpan | None, problem: str | None
) -> PartitionStatus:
    return replace(
        partition,
        log_start=None if span is None else span.start,
        log_end=None if span is None else span.end,
        offsets_at_ms=None if span is None else span.at_ms,
        problem=partition.problem or problem,
    )


def _with_read(group: GroupStatus, ids: Mapping[str, tuple[int, ...]]) -> GroupStatus:
    """Return the group, with the unowned partitions of the topics that its members read."""
    missing = read_partitions(group, ids) - {
        partition.topic_partition for partition in group.partitions
    }
    if not missing:
        return group
    return replace(group, partitions=(*group.partitions, *map(GroupPartition, missing)))


def _with_offsets(group: GroupStatus, in_kafka: GroupOffsets, kept: Kept) -> GroupStatus:
    """Return the group with its offsets in Kafka and the log ends."""
    known = {partition.topic_partition for partition in group.partitions}
    more = [GroupPartition(tp) for tp in in_kafka.keys() - known]
    spans = kept.spans
    return replace(
        group,
        partitions=tuple(
            _whole(partition, in_kafka.get(partition[0]), spans.get(partition[0]))
            # By the first field only: comparing whole tuples doubles the time of this function.
            for partition in sorted((*group.partitions, *more), key=lambda partition: partition[0])
        ),
    )


def _whole(
    partition: GroupPartition, in_kafka: OffsetRead | None, span: LogSpan | None
) -> GroupPartition:
    start, end, at_ms = span if span is not None else (None, None, None)
    committed, problem = partition.committed, partition.problem
    if isinstance(in_kafka, UnreadOffset):
        unread = in_kafka.problem
        problem = unread if problem is None else f"{problem}; {unread}"
        committed = committed if in_kafka.last is None else (*committed, in_kafka.last)
    elif isinstance(in_kafka, str):
        problem = in_kafka if problem is None else f"{problem}; {in_kafka}"
    elif in_kafka is not None:
        committed = (*committed, in_kafka)
    return GroupPartition(
        partition.topic_partition,
        partition.owner,
        partition.owner_session,
        partition.owner_since_ms,
        committed,
        start,
        end,
        at_ms,
        problem,
    )
