"""Estimates ZooKeeper's clock skew from the times of nodes that others write. Pure.

A node was written before we read it, and, if it has changed, after we read it the last time. Its
time by ZooKeeper's clock is compared with both reads: a group that commits every few seconds bounds
the skew to a few seconds. We need not write anything for that.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupStatus, Seen

WINDOW_MS: Final = 600_000
"""The age at which bounds are dropped, since clocks drift, and are set."""


class ClockSkew:
    """Bounds how far ZooKeeper's clock is ahead of the local one (negative: behind)."""

    def __init__(self) -> None:
        self._bounds: deque[tuple[int, int | None, int | None]] = deque()

    def note(
        self, before: Mapping[str, GroupStatus], after: Mapping[str, GroupStatus], read_ms: int
    ) -> None:
        """Record the commit times of groups, which were read until ``read_ms``."""
        lows: list[int] = []
        highs: list[int] = []
        for name, group in after.items():
            now = _written(group)
            lows += [written_ms - read_ms for written_ms, _ in now.values()]
            known = _written(before[name]) if name in before else {}
            highs += [
                written_ms - known[tp][1]
                for tp, (written_ms, _) in now.items()
                if tp in known and known[tp][0] < written_ms
            ]
        self._take(read_ms, max(lows, default=None), min(highs, default=None))

    def seen(self) -> Seen[int] | None:
        """Return the smallest skew within all bounds; None if the bounds show nothing."""
        low, high = self._tightest()
        if low is None or (high is None and low <= 0):
            return None
        least = max(low, 0) if high is None else min(max(low, 0), high)
        return Seen(least, self._bounds[-1][0])

    def _take(self, read_ms: int, low: int | None, high: int | None) -> None:
        while self._bounds and read_ms - self._bounds[0][0] > WINDOW_MS:
            self._bounds.popleft()
        others_low, others_high = self._tightest()
        contradicts = (low is not None and others_high is not None and low > others_high) or (
            high is not None and others_low is not None and high < others_low
        )
        if contradicts:
            # One of the clocks was set.
            self._bounds.clear()
        if low is not None or high is not None:
            self._bounds.append((read_ms, low, high))

    def _tightest(self) -> tuple[int | None, int | None]:
        """Return the highest lower bound and the lowest upper bound."""
        return (
            max((low for _, low, _ in self._bounds if low is not None), default=None),
            min((high for _, _, high in self._bounds if high is not None), default=None),
        )


def _written(group: GroupStatus) -> dict[TopicPartition, tuple[int, int]]:
    """Return each offset's write time by ZooKeeper's clock, and the earliest time of its read."""
    return {
        partition.topic_partition: (entry.committed_ms, min(entry.seen_ms, group.seen_ms))
        for partition in group.partitions
        for entry in partition.committed
        if entry.storage == "zookeeper" and entry.committed_ms is not None
    }
