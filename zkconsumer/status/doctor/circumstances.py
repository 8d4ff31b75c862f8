"""What a snapshot alone can't tell: an earlier look, settings, and what counts as long."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.assignment.strategy import Strategy
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known besides the snapshot.

    Attributes:
        earlier: the same cluster some time before: what was wrong then, too, is no rebalance on
            its way. None: this is the first look.
        long_before: the same at least ``silence_ms`` before, for offsets that stand still; None:
            what ``earlier`` tells has to do.
        just_before: a look a moment ago, that tells which offsets were there before the ends of
            logs were asked for the last time; None: ``earlier`` has to do.
        strategies: ``partition.assignment.strategy`` of ZooKeeper groups, by group id, of those
            where somebody said it; no node tells.
        skew_ms: how far two clocks may be apart.
        settle_ms: how long a group may take to share out its partitions: four tries two seconds
            apart, and the session of a member that died.
        silence_ms: how long an owner that has something to read may go without a commit; five
            times ``auto.commit.interval.ms``.
    """

    earlier: ClusterSnapshot | None = None
    long_before: ClusterSnapshot | None = None
    just_before: ClusterSnapshot | None = None
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    skew_ms: int = 60_000
    settle_ms: int = 30_000
    silence_ms: int = 300_000

    def group_before(self, key: GroupKey) -> GroupStatus | None:
        """Return how the group looked then; None where that is not known."""
        return None if self.earlier is None else self.earlier.groups.get(key)

    def elapsed_ms(self, now: ClusterSnapshot) -> int:
        """Return how long the earlier look is past, 0 where there is none."""
        return 0 if self.earlier is None else max(0, now.taken_ms - self.earlier.taken_ms)

    @property
    def silent_since(self) -> ClusterSnapshot | None:
        """The look that tells what stands still."""
        return self.earlier if self.long_before is None else self.long_before

    def silence_seen_ms(self, now: ClusterSnapshot) -> int:
        """Return how long that look is past, 0 where there is none."""
        since = self.silent_since
        return 0 if since is None else max(0, now.taken_ms - since.taken_ms)


def zookeeper_now_ms(snapshot: ClusterSnapshot) -> int:
    """Return the time of the snapshot by ZooKeeper's clock, which stamps nodes."""
    skew = snapshot.clock_skew_ms
    return snapshot.taken_ms + (0 if skew is None else skew.value)
