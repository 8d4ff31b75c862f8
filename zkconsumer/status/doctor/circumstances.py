"""The context of a diagnosis: earlier snapshots, settings, and time limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkconsumer.assignment.strategy import Strategy
from zkconsumer.status.doctor.sightings import SightingsByGroup
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The context of a snapshot.

    Attributes:
        earlier: an earlier snapshot: a fault that it shows, too, is not a rebalance in progress.
            None: this is the first.
        long_before: a snapshot at least ``silence_ms`` old, for offsets that do not move; None:
            ``earlier`` is used.
        sightings: the offsets that were seen beyond the ends of logs, in this and earlier
            snapshots.
        strategies: ``partition.assignment.strategy`` of ZooKeeper groups by group id, as far as it
            was given; no node has it.
        skew_ms: the largest expected difference of two clocks.
        settle_ms: how long a rebalance may take: four tries two seconds apart, and the session
            time-out of a dead member.
        silence_ms: how long an owner with records to read may go without a commit; five times
            ``auto.commit.interval.ms``.
    """

    earlier: ClusterSnapshot | None = None
    long_before: ClusterSnapshot | None = None
    sightings: SightingsByGroup = field(default_factory=dict)
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    skew_ms: int = 60_000
    settle_ms: int = 30_000
    silence_ms: int = 300_000

    def group_before(self, key: GroupKey) -> GroupStatus | None:
        """Return the group in the earlier snapshot; None if unknown."""
        return None if self.earlier is None else self.earlier.groups.get(key)

    def elapsed_ms(self, now: ClusterSnapshot) -> int:
        """Return the age of the earlier snapshot; 0 without one."""
        return 0 if self.earlier is None else max(0, now.taken_ms - self.earlier.taken_ms)

    @property
    def silent_since(self) -> ClusterSnapshot | None:
        """The snapshot to compare with, to detect offsets that do not move."""
        return self.earlier if self.long_before is None else self.long_before

    def silence_seen_ms(self, now: ClusterSnapshot) -> int:
        """Return the age of that snapshot; 0 without one."""
        since = self.silent_since
        return 0 if since is None else max(0, now.taken_ms - since.taken_ms)


def zookeeper_now_ms(snapshot: ClusterSnapshot) -> int:
    """Return the snapshot's time by ZooKeeper's clock, which stamps nodes."""
    return snapshot.taken_ms + snapshot.skew_ms
