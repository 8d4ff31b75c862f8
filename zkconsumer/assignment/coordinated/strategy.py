"""The strategies by their names in ``partition.assignment.strategy``.

Their functions are in ``assignors``: a configuration needs only the names.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from zkconsumer.model import TopicPartition

Shares = Mapping[str, tuple[TopicPartition, ...]]
"""The partitions assigned to each member, by member id."""


class RebalanceMode(Enum):
    """What a member gives up before it joins again (KIP-429)."""

    EAGER = "everything"
    COOPERATIVE = "only what it no longer reads"


class Strategy(NamedTuple):
    """The properties of one strategy.

    Attributes:
        cooperative: whether a member may keep its partitions while it joins.
        remembers: whether members send their previous partitions in the strategy's user data (as
            with ``sticky``, since an eager member owns nothing by the time it joins).
    """

    cooperative: bool = False
    remembers: bool = False


STRATEGIES: Mapping[str, Strategy] = {
    "range": Strategy(),
    "roundrobin": Strategy(),
    "sticky": Strategy(remembers=True),
    "cooperative-sticky": Strategy(cooperative=True),
}


def mode_of(names: Iterable[str]) -> RebalanceMode:
    """Return how a member with these strategies rebalances.

    It is cooperative only if all strategies are, since the group may choose any of them. So a group
    migrates in two rolling restarts, first to both strategies, then to the cooperative one alone.

    Source: KIP-429, Kafka ``ConsumerCoordinator``.

    Raises:
        KeyError: a name is not in ``STRATEGIES``.
    """
    cooperates = [STRATEGIES[name].cooperative for name in names]
    return RebalanceMode.COOPERATIVE if all(cooperates) else RebalanceMode.EAGER
