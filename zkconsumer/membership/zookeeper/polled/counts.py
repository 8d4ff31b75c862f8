"""Counts the events of a member of a ZooKeeper group, for ``metrics()``."""

from dataclasses import dataclass

from zkconsumer.observe import (
    Committed,
    Event,
    MemberName,
    PartitionsLost,
    RebalanceFinished,
    RebalanceTryFailed,
)


@dataclass(slots=True)
class ZookeeperGroupCounts:
    """Observes a member, and counts its events.

    Attributes:
        joined: rebalances that finished.
        failed: failed tries of rebalances.
        commits: successful writes of offsets.
        lost: how many times partitions were lost.
    """

    joined: int = 0
    failed: int = 0
    commits: int = 0
    lost: int = 0

    def numbers(self) -> dict[str, float]:
        """See ``Membership``."""
        return {
            "join-total": self.joined,
            "failed-rebalance-total": self.failed,
            "commit-total": self.commits,
            "lost-total": self.lost,
        }

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``. Thread: control, which reports all events counted here."""
        del member
        match event:
            case RebalanceFinished():
                self.joined += 1
            case RebalanceTryFailed():
                self.failed += 1
            case Committed():
                self.commits += 1
            case PartitionsLost():
                self.lost += 1
            case _:
                pass
