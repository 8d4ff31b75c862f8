"""Since when a group has been silent, and whether it counts as abandoned. Pure.

ZooKeeper never forgets a group, so one that has done its work stays for good, and falls behind. It
is told apart from one in trouble by two things:

- *stuck*: members are there, and don't get on. That is for the doctor and ``burrow``.
- *stopped*: nobody is there, and the last commit is young: nobody reads it, and somebody may mind.
- *abandoned*: nobody is there, and nothing was committed for longer than ``abandoned_after_ms``.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from zkconsumer.status.model import GroupPartition, GroupState, GroupStatus

ABANDONED_AFTER_MS: Final = 1_800_000
"""How long nothing is committed before a group that nobody is in counts as abandoned."""


def last_commit_ms(group: GroupStatus, skew_ms: int) -> int | None:
    """Return when the group last committed, by our clock; None where no storage tells.

    ZooKeeper stamps its nodes; what coordinators answer has no time.

    Args:
        group: the group.
        skew_ms: how far ZooKeeper's clock is ahead of ours.
    """
    found = max(_times(group.partitions), default=None)
    return None if found is None else found - skew_ms


def _times(partitions: tuple[GroupPartition, ...]) -> Iterator[int]:
    for one in partitions:
        for committed in one.committed:
            if committed.storage == "zookeeper" and committed.committed_ms is not None:
                yield committed.committed_ms


def is_deserted(group: GroupStatus) -> bool:
    """Return whether nobody is in it, and that is certain.

    A registration that its member has left behind is somebody: others leave a share to it, and
    it is a fault of its own.
    """
    return group.whole and group.state is GroupState.EMPTY


def with_silence(
    group: GroupStatus,
    *,
    now_ms: int,
    skew_ms: int,
    unmoved_since_ms: int | None,
    abandoned_after_ms: int,
) -> GroupStatus:
    """Return the group with since when it is silent, and with its state if it is abandoned.

    Args:
        group: with its offsets and its state.
        now_ms: the time.
        skew_ms: how far ZooKeeper's clock is ahead of ours.
        unmoved_since_ms: since when its offsets in Kafka have been seen as they are, if it is
            watched for that.
        abandoned_after_ms: how long a silence makes a group abandoned.
    """
    group = replace(
        group, last_commit_ms=last_commit_ms(group, skew_ms), unmoved_since_ms=unmoved_since_ms
    )
    since_ms = group.silent_since_ms
    if since_ms is not None and now_ms - since_ms >= abandoned_after_ms and is_deserted(group):
        return replace(group, state=GroupState.ABANDONED)
    return group
