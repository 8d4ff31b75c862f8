"""The cooperative sticky assignor: a partition that moves is given up first, and assigned later.

A partition that gets another owner is left out of this generation's assignment. Its old owner sees
that it is missing, gives it up and joins again; then no member claims it, and the new owner gets
it. In the meantime all members continue to read.

Source: KIP-429, Kafka ``CooperativeStickyAssignor``.
"""

from collections.abc import Mapping

from zkconsumer.assignment.coordinated import sticky
from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Return each member's partitions for this generation, without those being given up."""
    return withhold(view, sticky.assign(view))


def withhold(
    view: CoordinatedView, target: Mapping[str, tuple[TopicPartition, ...]]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Return ``target`` without the partitions that only members other than the new owner claim.

    Claims of every generation count: an outdated claim costs one more rebalance, but to ignore a
    claim would let two members read the partition.
    """
    claimed_by: dict[TopicPartition, set[str]] = {}
    for member_id, member in view.members.items():
        for tp in member.owned:
            claimed_by.setdefault(tp, set()).add(member_id)
    return {
        member_id: tuple(
            tp for tp in share if not (owners := claimed_by.get(tp)) or member_id in owners
        )
        for member_id, share in target.items()
    }
