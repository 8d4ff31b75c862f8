"""Picks the assignor that ``partition.assignment.strategy`` names."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias, assert_never

from zkconsumer.assignment import range as range_assignor
from zkconsumer.assignment import round_robin
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.model import ConsumerThreadId, TopicPartition

_SHOWN: Final = 5

Strategy: TypeAlias = Literal["range", "roundrobin"]


Owners: TypeAlias = Mapping[TopicPartition, ConsumerThreadId]
"""The thread that reads each partition, for the whole group."""


@dataclass(frozen=True, slots=True)
class CannotAssign:
    """The strategy can't be applied to this group; the reason includes the remedy."""

    reason: str


def assign(strategy: Strategy, view: GroupView, own_consumer_id: str) -> Owners | CannotAssign:
    """Assign the partitions of the whole group, as the member ``own_consumer_id`` does.

    A group that reads no topic gets an empty assignment with both strategies; in Kafka 0.8.2
    round-robin fails then (KAFKA-1648), so its members own nothing either.

    Source: Kafka 0.8.2.2 ``PartitionAssignor.createInstance``.
    """
    if own_consumer_id not in view.members:
        return CannotAssign(f"member {own_consumer_id} is not registered in the group")
    match strategy:
        case "range":
            return range_assignor.assign(view)
        case "roundrobin":
            uneven = round_robin.uneven_topics(view)
            if uneven is not None:
                return CannotAssign(_uneven_reason(view, *uneven))
            return round_robin.assign(view, own_consumer_id)
        case _:
            assert_never(strategy)


def _uneven_reason(view: GroupView, first_topic: str, second_topic: str) -> str:
    threads = view.threads_by_topic()
    only_first, first = threads[first_topic].without(threads[second_topic])
    only_second, second = threads[second_topic].without(threads[first_topic])
    differing = map(format, (*islice(first, _SHOWN), *islice(second, _SHOWN)))
    more = ", ..." if only_first + only_second > _SHOWN else ""
    shown = ", ".join(sorted(differing)[:_SHOWN]) + more
    return (
        f"round-robin needs all members to read the same topics with the same number of streams, "
        f"but only one of the topics {first_topic} and {second_topic} is read by {shown}: make "
        "the subscriptions equal, or use partition.assignment.strategy=range on all members"
    )
