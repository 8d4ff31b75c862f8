"""The cooperative sticky assignor: what changes hands is given up first, and taken next time.

A partition whose owner is to be another one is left out of this generation's assignment. Its old
owner sees that it is missing, gives it up and joins again; by then nobody claims it, and it goes
to the new one. In between everybody reads on.

Source: KIP-429, Kafka ``CooperativeStickyAssignor``.
"""

from collections.abc import Mapping

from zkconsumer.assignment.coordinated import sticky
from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Each member's partitions for this generation; what is being given up is nobody's."""
    return withhold(view, sticky.assign(view))


def withhold(
    view: CoordinatedView, target: Mapping[str, tuple[TopicPartition, ...]]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Leave out of ``target`` what a member would get while others say that they read it.

    Every claim counts, of whatever generation: a late one is at worst given up once more, but a
    claim passed over would be a partition that two members read.
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
