"""Counts the events of a member of a ZooKeeper group, for ``metrics()``."""

from collections.abc import Mapping
from typing import Final

from zkconsumer.observe import (
    Committed,
    Event,
    MemberName,
    PartitionsLost,
    RebalanceFinished,
    RebalanceTryFailed,
)

_NAMES: Final[Mapping[type[Event], str]] = {
    RebalanceFinished: "join-total",
    RebalanceTryFailed: "failed-rebalance-total",
    Committed: "commit-total",
    PartitionsLost: "lost-total",
}


class ZookeeperGroupCounts:
    """Observes a member, and counts its events."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(_NAMES.values(), 0)

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return self._counts.copy()

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``. Thread: control, which reports all events counted here."""
        del member
        name = _NAMES.get(type(event))
        if name is not None:
            self._counts[name] += 1
