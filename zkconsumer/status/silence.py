"""Determines since when a group has been silent, and whether it is abandoned. Pure.

ZooKeeper never deletes a group, so one that is no longer used remains, and its lag grows. It is
distinguished from a group in trouble:

- *stuck*: it has members, and does not progress. See the doctor and ``burrow``.
- *stopped*: it has no members, and the last commit is recent: that may be a fault.
- *abandoned*: it has no members, and no commit for longer than ``abandoned_after_ms``.
"""

from dataclasses import replace
from typing import Final

from zkconsumer.status.model import GroupState, GroupStatus

ABANDONED_AFTER_MS: Final = 1_800_000
"""The time without commits after which a group without members counts as abandoned."""


def last_commit_ms(group: GroupStatus, skew_ms: int) -> int | None:
    """Return when the group last committed, by the local clock; None if unknown.

    ZooKeeper stamps its nodes; coordinators do not report commit times.

    Args:
        group: the group.
        skew_ms: how far ZooKeeper's clock is ahead of the local one.
    """
    times = [
        committed.committed_ms
        for partition in group.partitions
        for committed in partition.committed
        if committed.storage == "zookeeper" and committed.committed_ms is not None
    ]
    return max(times) - skew_ms if times else None


def with_abandonment(
    group: GroupStatus,
    *,
    now_ms: int,
    skew_ms: int,
    offsets_unchanged_since_ms: int | None,
    abandoned_after_ms: int,
) -> GroupStatus:
    """Return the group with the time since when it has been silent, and marked if abandoned.

    Args:
        group: with its offsets and its state.
        now_ms: the current time.
        skew_ms: how far ZooKeeper's clock is ahead of the local one.
        offsets_unchanged_since_ms: since when its offsets in Kafka were seen unchanged, if that is
            tracked.
        abandoned_after_ms: the silence after which a group is abandoned.
    """
    group = replace(
        group,
        last_commit_ms=last_commit_ms(group, skew_ms),
        offsets_unchanged_since_ms=offsets_unchanged_since_ms,
    )
    since_ms = group.silent_since_ms
    # The registration of a dead member counts as a member: live members assign a share to it, and
    # it has a diagnosis of its own.
    is_deserted = group.is_complete and group.state is GroupState.EMPTY
    if is_deserted and since_ms is not None and now_ms - since_ms >= abandoned_after_ms:
        return replace(group, state=GroupState.ABANDONED)
    return group
