"""Computes how fast a group reads, and how fast its topics are written. Pure.

Commits come at intervals, by default every minute. So the rate of reading is measured between
commits, not between snapshots.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus
from zkconsumer.status.set_back import was_set_back

WINDOW_MS: Final = 300_000
"""The time that rates are measured over."""
_STEP_MS: Final = 4_000
"""The minimum time between two samples without a commit: a bit less than between two reads."""
_LEAST_MS: Final = 4_000
"""The minimum time that a rate is measured over."""
_FALL_MS: Final = 60_000
"""How long a lag must have fallen before it is expected to fall further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRates:
    """The rates of a group, or of a cluster.

    Attributes:
        written: records per second that are written to its topics; None: not known yet.
        read: records per second that are committed; None: not known yet.
        moved_ms: when its offsets were last seen to move; None if they were not.
        falls: by how many records per second the lag has fallen since its maximum in the window;
            None if that is at its beginning, or recent: ``written`` and ``read`` decide then.
    """

    written: float | None = None
    read: float | None = None
    moved_ms: int | None = None
    falls: float | None = None

    def caught_up_ms(self, lag: int | None) -> int | None:
        """Return the time until a lag is read at these rates, ms; None if never, or unknown."""
        if lag is None or self.written is None or self.read is None:
            return None
        gain = self.read - self.written if self.falls is None else self.falls
        if lag == 0 or gain <= 0:
            return 0 if lag == 0 else None
        return int(lag * 1_000 / gain)


class _Sample(NamedTuple):
    """Sums over the partitions of a group; comparable only for the same partitions."""

    at_ms: int
    written: int
    read: int

    @property
    def lag(self) -> int:
        """The number of records that were written and not read yet."""
        return self.written - self.read


class _Series:
    """The samples of one group, or of the logs of all topics."""

    __slots__ = ("_last", "_moved_ms", "_samples", "_width")

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()
        self._width = -1
        self._last: object = None
        self._moved_ms: int | None = None

    def is_known(self, source: object) -> bool:
        """Return whether the last sample was taken from this object; remember it as the last."""
        known, self._last = self._last is source, source
        return known

    def add(self, sample: _Sample, width: int) -> None:
        """Add the sums over ``width`` partitions; restart if that changed, or time went back."""
        samples = self._samples
        if width != self._width or (samples and sample.at_ms <= samples[-1].at_ms):
            samples.clear()
            self._width = width
        if samples and sample.read != samples[-1].read:
            self._moved_ms = sample.at_ms
        elif len(samples) > 1 and sample.at_ms - samples[-2].at_ms < _STEP_MS:
            samples.pop()
        samples.append(sample)
        while sample.at_ms - samples[0].at_ms > WINDOW_MS:
            samples.popleft()

    def rates(self) -> GroupRates:
        """Return the rates over the window."""
        if len(self._samples) < 2:
            return GroupRates(moved_ms=self._moved_ms)
        first, last = self._samples[0], self._samples[-1]
        span_ms = last.at_ms - first.at_ms
        if span_ms < _LEAST_MS:
            return GroupRates(moved_ms=self._moved_ms)
        points = self._points()
        return GroupRates(
            written=max(0.0, (last.written - first.written) * 1_000 / span_ms),
            read=_read(points[0], points[-1]),
            moved_ms=self._moved_ms,
            falls=_falls(points),
        )

    def _points(self) -> list[_Sample]:
        """Return the samples right after commits if these are regular, otherwise all samples."""
        samples = list(self._samples)
        steps = [now for before, now in pairwise(samples) if now.read != before.read]
        if len(steps) > 1:
            begin, end = steps[0], steps[-1]
            usual_ms = (end.at_ms - begin.at_ms) / (len(steps) - 1)
            # An overdue commit counts as missing: the rate must then fall.
            if samples[-1].at_ms - end.at_ms <= 2 * usual_ms + _STEP_MS:
                return steps
        return samples


def _read(first: _Sample, last: _Sample) -> float:
    return max(0.0, (last.read - first.read) * 1_000 / (last.at_ms - first.at_ms))


def _falls(points: list[_Sample]) -> float | None:
    first, last = points[0], points[-1]
    peak = max(points, key=lambda point: point.lag)
    span_ms = last.at_ms - peak.at_ms
    if peak.lag <= first.lag or span_ms < _FALL_MS:
        return None
    return (peak.lag - last.lag) * 1_000 / span_ms


class RateHistory:
    """Records the sums of successive snapshots, and computes rates from them."""

    def __init__(self) -> None:
        self._groups: dict[GroupKey, _Series] = {}
        self._logs = _Series()
        self._clock_ahead_ms = 0

    def record(self, snapshot: ClusterSnapshot) -> None:
        """Record a snapshot, which must not be older than the last one.

        If the clock was set back since then, all earlier samples are dropped.
        """
        if was_set_back(self._clock_ahead_ms, snapshot.clock_ahead_ms):
            self._groups, self._logs = {}, _Series()
        self._clock_ahead_ms = snapshot.clock_ahead_ms
        groups = {key: self._groups.get(key) or _Series() for key in snapshot.groups}
        for key, series in groups.items():
            group = snapshot.groups[key]
            if not series.is_known(group):
                series.add(*_sums(group, snapshot.taken_ms))
        self._groups = groups
        if not self._logs.is_known(snapshot.topics):
            self._logs.add(*_log_sums(snapshot))

    def rates(self, key: GroupKey) -> GroupRates:
        """Return the rates of a group."""
        series = self._groups.get(key)
        return GroupRates() if series is None else series.rates()

    def cluster(self, groups: Mapping[GroupKey, GroupRates]) -> GroupRates:
        """Return the rates of the cluster: of all logs, and the sum over these groups."""
        read = [rates.read for rates in groups.values() if rates.read is not None]
        moved = [rates.moved_ms for rates in groups.values() if rates.moved_ms is not None]
        return GroupRates(
            written=self._logs.rates().written,
            read=sum(read) if read else None,
            moved_ms=max(moved, default=None),
        )


def _sums(group: GroupStatus, at_ms: int) -> tuple[_Sample, int]:
    written = read = width = 0
    for partition in group.partitions:
        committed = partition.effective(group.kind)
        if committed is not None and partition.log_end is not None:
            written += partition.log_end
            read += committed.offset
            width += 1
    return _Sample(at_ms, written, read), width


def _log_sums(snapshot: ClusterSnapshot) -> tuple[_Sample, int]:
    ends = [
        partition.log_end
        for topic in snapshot.topics
        for partition in topic.partitions
        if partition.log_end is not None
    ]
    return _Sample(snapshot.taken_ms, sum(ends), 0), len(ends)
