"""Time series of a cluster: log ends of partitions, and commits of groups. Pure.

They show *when* the log end was at a committed offset (the group's lag in time), and whether a
group's commits make progress (``burrow``).

A large cluster has hundreds of thousands of series, so each is stored in arrays of 64-bit numbers,
and only changes are stored.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupPartition,
)
from zkconsumer.status.set_back import was_set_back

LOG_END_SAMPLES = 60
COMMIT_SAMPLES = 10
_UNKNOWN = -1


class CommitSample(NamedTuple):
    """A commit: its offset, its time, and the lag at that time if known."""

    offset: int
    at_ms: int
    lag: int | None


class LogEndSeries:
    """The log ends of one partition, non-decreasing, in the order of time.

    The first sample is never dropped for space: when the series is full, every other sample of the
    older half is dropped, so that old times are less exact.

    Args:
        limit: how many samples to keep, at least 4.
    """

    __slots__ = ("_limit", "_offsets", "_times")

    def __init__(self, limit: int = LOG_END_SAMPLES) -> None:
        self._limit = limit
        self._offsets = array("q")
        self._times = array("q")

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield each log end, and when it was read."""
        return zip(self._offsets, self._times, strict=True)

    def add(self, log_end: int, at_ms: int) -> None:
        """Add a sample.

        A sample that is not newer than the last is dropped. A smaller log end means a truncated or
        recreated log: samples beyond it are invalid and dropped.
        """
        offsets, times = self._offsets, self._times
        if times and at_ms <= times[-1]:
            return
        keep = bisect_right(offsets, log_end)
        del offsets[keep:], times[keep:]
        if len(offsets) > 1 and offsets[-2] == log_end == offsets[-1]:
            times[-1] = at_ms  # while the log does not grow, a first and a last sample suffice
            return
        if len(offsets) == self._limit:
            half = self._limit // 2
            del offsets[1:half:2], times[1:half:2]
        offsets.append(log_end)
        times.append(at_ms)

    @property
    def grown(self) -> bool:
        """Whether the log has grown since the first sample."""
        return bool(self._offsets) and self._offsets[-1] > self._offsets[0]

    @property
    def watched_ms(self) -> int:
        """The time from the first sample to the last."""
        return self._times[-1] - self._times[0] if self._times else 0

    def since(self, at_ms: int) -> tuple[int, ...]:
        """Return the log ends seen at that time or later, in the order of time."""
        start = bisect_right(self._times, at_ms - 1)
        return tuple(self._offsets[start:])

    def passed_ms(self, offset: int) -> int | None:
        """Return when the log grew beyond ``offset``, which is when the record there was written.

        The time is interpolated between two samples. Before the first sample it is extrapolated
        from the growth since; if the log has not grown, the time of the first sample is returned.

        Returns:
            None if the log was never seen to be longer, or there are fewer than 2 samples.

        Source: kafka-lag-exporter 0.8 ``LookupTable``, whose extrapolation it is too.
        """
        offsets, times = self._offsets, self._times
        right = bisect_right(offsets, offset)
        if len(offsets) < 2 or right == len(offsets):
            return None
        if right:
            grown = offsets[right] - offsets[right - 1]
            part = times[right] - times[right - 1]
            return times[right - 1] + (offset - offsets[right - 1]) * part // grown
        grown = offsets[-1] - offsets[0]
        if not grown:
            return times[0]
        missing = (offsets[0] - offset) * (times[-1] - times[0])
        return times[0] - missing // grown


class Commits:
    """The last commits of one group for one partition, in the order of time.

    Args:
        limit: the maximum number of commits to keep, at least 2; also an attribute.
    """

    __slots__ = ("_lags", "_offsets", "_times", "limit")

    def __init__(self, limit: int = COMMIT_SAMPLES) -> None:
        self.limit = limit
        self._offsets = array("q")
        self._times = array("q")
        self._lags = array("q")

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[CommitSample]:
        lags = [None if lag == _UNKNOWN else lag for lag in self._lags]
        return map(CommitSample, self._offsets, self._times, lags)

    def add(self, committed: CommittedOffset, log_end: int | None, skew_ms: int = 0) -> None:
        """Add the committed offset, unless it is the last known commit.

        If commit times are unknown, only a change of the offset reveals a commit, which is dated by
        its first read; repeated commits of the same offset go unnoticed.

        The lag at the first commit is unknown, since that can be old; but if there is no lag now,
        there was none.

        Args:
            committed: the committed offset, as read.
            log_end: the log end at that time; None if unknown.
            skew_ms: how far the clock of ``committed_ms`` is ahead of the local one.
        """
        reported = committed.committed_ms
        at_ms = committed.seen_ms if reported is None else reported - skew_ms
        first = not self._offsets
        if not first:
            if self._offsets[-1] == committed.offset and (
                reported is None or at_ms <= self._times[-1]
            ):
                return
            at_ms = max(at_ms, self._times[-1])
        lag = _UNKNOWN if log_end is None else max(0, log_end - committed.offset)
        if first and lag:
            lag = _UNKNOWN
        if len(self._offsets) == self.limit:
            del self._offsets[0], self._times[0], self._lags[0]
        self._offsets.append(committed.offset)
        self._times.append(at_ms)
        self._lags.append(lag)


class History:
    """All series of a cluster, fed with successive snapshots.

    The series of partitions and groups that a snapshot lacks are dropped, so the history never
    outgrows the cluster.
    """

    def __init__(self) -> None:
        self._log_ends: dict[TopicPartition, LogEndSeries] = {}
        self._commits: dict[GroupKey, dict[TopicPartition, Commits]] = {}
        self._clock_ahead_ms = 0

    def record(self, snapshot: ClusterSnapshot) -> None:
        """Record a snapshot; if the clock was set back since the last one, start over with it."""
        if was_set_back(self._clock_ahead_ms, snapshot.clock_ahead_ms):
            self._log_ends, self._commits = {}, {}
        self._clock_ahead_ms = snapshot.clock_ahead_ms
        self._log_ends = self._recorded_log_ends(snapshot)
        self._commits = {
            key: self._recorded_commits(key, group.partitions, snapshot.skew_ms)
            for key, group in snapshot.groups.items()
        }

    def log_ends(self, topic_partition: TopicPartition) -> LogEndSeries | None:
        """Return the log ends of a partition; None if none were seen."""
        return self._log_ends.get(topic_partition)

    def commits(self, key: GroupKey) -> Mapping[TopicPartition, Commits]:
        """Return the commits of a group by partition."""
        return self._commits.get(key, {})

    def _recorded_log_ends(self, snapshot: ClusterSnapshot) -> dict[TopicPartition, LogEndSeries]:
        kept: dict[TopicPartition, LogEndSeries] = {}
        for topic in snapshot.topics:
            for partition in topic.partitions:
                tp = partition.topic_partition
                series = self._log_ends.get(tp)
                if partition.log_end is not None and partition.offsets_at_ms is not None:
                    if series is None:
                        series = LogEndSeries()
                    series.add(partition.log_end, partition.offsets_at_ms)
                if series is not None:
                    kept[tp] = series
        return kept

    def _recorded_commits(
        self, key: GroupKey, partitions: tuple[GroupPartition, ...], skew_ms: int
    ) -> dict[TopicPartition, Commits]:
        before, kept = self._commits.get(key, {}), dict[TopicPartition, Commits]()
        for partition in partitions:
            tp = partition.topic_partition
            series = before.get(tp)
            committed = partition.effective(key.kind)
            if committed is not None:
                if series is None:
                    series = Commits()
                # Only ZooKeeper's clock has been compared with the local one.
                ahead_ms = skew_ms if committed.storage == "zookeeper" else 0
                series.add(committed, partition.log_end, ahead_ms)
            if series is not None:
                kept[tp] = series
        return kept
