"""Decides which findings need a second snapshot, and how long to wait for it (pure).

In a single snapshot a rebalancing group looks like a stuck one, and an offset that was just
committed like one that does not move. Groups at rest need no second snapshot.
"""

from collections.abc import Collection
from dataclasses import dataclass

from zkconsumer.status.doctor.circumstances import Circumstances, zookeeper_now_ms
from zkconsumer.status.doctor.sightings import may_be_beyond
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKey,
    GroupPartition,
    GroupState,
    GroupStatus,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A group that may be stuck: a second snapshot shows whether it moves.

    Attributes:
        key: the group.
        why: the observation, in a few words.
        wait_ms: how long a healthy group may take to move.
        stalled: the offsets that may be stuck; empty if the group rebalances.
    """

    key: GroupKey
    why: str
    wait_ms: int
    stalled: tuple[GroupPartition, ...] = ()

    def cleared(self, snapshot: ClusterSnapshot) -> bool:
        """Return whether the group has moved by now, or has no members any more."""
        group = snapshot.groups.get(self.key)
        if group is None or not group.members:
            return True
        if not self.stalled:
            return group.state is not GroupState.REBALANCING
        now = group.by_partition
        return all(
            _moved(partition, now.get(partition.topic_partition), group)
            for partition in self.stalled
        )


def suspicions(
    snapshot: ClusterSnapshot, keys: Collection[GroupKey], around: Circumstances
) -> tuple[Suspicion, ...]:
    """Return the suspicions that a second snapshot would settle."""
    found = []
    for key in keys:
        group = snapshot.groups.get(key)
        if group is None or not group.members:
            continue
        if group.state is GroupState.REBALANCING:
            found.append(Suspicion(key=key, why="is rebalancing", wait_ms=around.settle_ms))
        stalled = tuple(
            partition
            for partition in group.partitions
            if _may_stand(snapshot, group, partition, around)
        )
        if stalled:
            found.append(
                Suspicion(
                    key=key,
                    why="its offsets may be stuck",
                    wait_ms=around.silence_ms,
                    stalled=stalled,
                )
            )
    return tuple(found)


def doubtful(snapshot: ClusterSnapshot, keys: Collection[GroupKey]) -> frozenset[GroupKey]:
    """Return the groups with nodes of dead sessions, or offsets beyond the log ends that were read.

    Log ends are read before offsets, and groups before sessions; reading both again shows whether
    the logs have only grown, and the members are gone.
    """
    found = ((key, group) for key in keys if (group := snapshot.groups.get(key)) is not None)
    alive = snapshot.live_sessions
    return frozenset(
        key
        for key, group in found
        if (alive is not None and not group.sessions <= alive)
        or any(
            (committed := partition.effective(key.kind)) is not None
            and may_be_beyond(partition, committed)
            for partition in group.partitions
        )
    )


def _may_stand(
    snapshot: ClusterSnapshot, group: GroupStatus, partition: GroupPartition, around: Circumstances
) -> bool:
    """Return whether there are records to read, and no recent commit is known."""
    if partition.owner is None or partition.log_end is None:
        return False
    committed = partition.effective(group.kind)
    if committed is None:
        return partition.log_start is not None and partition.log_start < partition.log_end
    if committed.offset >= partition.log_end:
        return False
    if committed.committed_ms is None:
        return True
    return zookeeper_now_ms(snapshot) - committed.committed_ms > around.silence_ms


def _moved(then: GroupPartition, now: GroupPartition | None, group: GroupStatus) -> bool:
    if now is None or now.owner != then.owner:
        return True
    before, after = then.effective(group.kind), now.effective(group.kind)
    return (None if before is None else before.offset) != (None if after is None else after.offset)
