"""The assignors by their names in ``partition.assignment.strategy``, and their properties."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from zkconsumer.assignment.coordinated import cooperative, round_robin, sticky
from zkconsumer.assignment.coordinated import range as range_assignor
from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition

Shares = Mapping[str, tuple[TopicPartition, ...]]
"""The partitions assigned to each member, by member id."""


class RebalanceMode(Enum):
    """What a member gives up before it joins again (KIP-429)."""

    EAGER = "everything"
    COOPERATIVE = "only what it no longer reads"


@dataclass(frozen=True, slots=True)
class Assignor:
    """One strategy.

    Attributes:
        name: the name in the protocol and the configuration.
        assign: returns the partitions of each member of a group.
        cooperative: whether a member may keep its partitions while it joins.
        remembers: whether members send their previous partitions in the assignor's user data (as
            with ``sticky``, since an eager member owns nothing by the time it joins).
    """

    name: str
    assign: Callable[[CoordinatedView], Shares]
    cooperative: bool = False
    remembers: bool = False


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", range_assignor.assign),
        Assignor("roundrobin", round_robin.assign),
        Assignor("sticky", sticky.assign, remembers=True),
        Assignor("cooperative-sticky", cooperative.assign, cooperative=True),
    )
}


def mode_of(names: Iterable[str]) -> RebalanceMode:
    """Return how a member with these strategies rebalances.

    It is cooperative only if all strategies are, since the group may choose any of them. So a group
    migrates in two rolling restarts, first to both strategies, then to the cooperative one alone.

    Source: KIP-429, Kafka ``ConsumerCoordinator``.

    Raises:
        KeyError: a name is not in ``ASSIGNORS``.
    """
    cooperates = [ASSIGNORS[name].cooperative for name in names]
    return RebalanceMode.COOPERATIVE if all(cooperates) else RebalanceMode.EAGER
