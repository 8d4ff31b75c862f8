"""The state of a group, in the same words for both kinds. Pure.

- ``stable``: it has members, and everything they read has its owner.
- ``rebalancing``: it has members, but some ownership is wrong, or a registration is malformed. That
  is usual for moments; when it lasts, the group is stuck (``timeline`` says since when).
- ``empty``: no members, but committed offsets.
- ``dead``: no members and no offsets.
- ``abandoned``: no members, and no commit for long (``silence`` determines that).
- ``unknown``: the data that it depends on could not be read.
"""

from zkconsumer.status.model import GroupState, GroupStatus
from zkconsumer.status.verify import PartitionIds, malformed_members, ownership_faults

# AwaitingSync: before 1.0; Assigning and Reconciling: the protocol of KIP-848.
_REPORTED = {
    "Stable": GroupState.STABLE,
    "PreparingRebalance": GroupState.REBALANCING,
    "CompletingRebalance": GroupState.REBALANCING,
    "AwaitingSync": GroupState.REBALANCING,
    "Assigning": GroupState.REBALANCING,
    "Reconciling": GroupState.REBALANCING,
    "Empty": GroupState.EMPTY,
    "Dead": GroupState.DEAD,
}


def coordinator_state(reported: str) -> GroupState:
    """Convert a coordinator's name of a group state.

    Source: Kafka 3.9 ``GroupMetadata``, ``ConsumerGroup.ConsumerGroupState``; 0.9 calls a group
    without members ``Dead``, even one with offsets.
    """
    return _REPORTED.get(reported, GroupState.UNKNOWN)


def zookeeper_state(
    group: GroupStatus,
    partition_ids: PartitionIds | None,
    live_sessions: frozenset[int] | None = None,
) -> GroupState:
    """Return the state of a ZooKeeper group, from its nodes.

    Args:
        group: its ``state`` is ignored.
        partition_ids: of all topics; None if unknown.
        live_sessions: see ``verify``.
    """
    if not group.is_complete:
        return GroupState.UNKNOWN
    if not group.members:
        kept = any(partition.committed for partition in group.partitions)
        return GroupState.EMPTY if kept else GroupState.DEAD
    if partition_ids is None:
        return GroupState.UNKNOWN
    if malformed_members(group) or ownership_faults(group, partition_ids, live_sessions):
        return GroupState.REBALANCING
    return GroupState.STABLE
