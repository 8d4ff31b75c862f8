"""Burrow's verdict on a group: not how large the lag is, but whether the group gets on. Pure.

No thresholds: the last commits of each partition are held against the lag they left. The rules,
their order and the numbers are Burrow's (linkedin/Burrow, ``core/internal/evaluator/caching.go``
and ``core/protocol/evaluator.go``). Three things are ours:

- Burrow calls a partition stopped when it has been silent for longer than its window is long. A
  window of one commit, or of a fast burst of them, has next to no length; ``least_span_ms`` is
  what it counts as at least. Burrow's own is 0.
- One commit shows neither a standstill nor a growing lag, so it is OK. In Burrow it is a STALL:
  each group that is behind would be an error until its second commit after a start of ours.
- Where the time of commits is not told, they are seen only by their offsets (see ``series``): who
  goes on committing the same offset is then STOP, not STALL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import GroupState, GroupStatus
from zkconsumer.status.series import CommitSample, History


class BurrowStatus(IntEnum):
    """From best to worst; the numbers are what Burrow's metrics hold."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6

    @property
    def meaning(self) -> str:
        """What it says of a group or partition, in plain words."""
        return _MEANINGS[self]


_MEANINGS = {
    BurrowStatus.NOTFOUND: "there is no such group, or nobody uses it any more",
    BurrowStatus.OK: "gets on, or has nothing to do",
    BurrowStatus.WARN: "gets on, but falls further behind",
    BurrowStatus.ERR: "a partition does not get on",
    BurrowStatus.STOP: "no longer commits, though there is something to read",
    BurrowStatus.STALL: "commits the same offset again and again, though there is more to read",
    BurrowStatus.REWIND: "went back to an earlier offset and has not made up for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowSettings:
    """What can be set.

    Attributes:
        allowed_lag: a lag up to this counts as none.
        minimum_complete: windows filled to less than this part (0 to 1) are OK without a look.
        least_span_ms: what the span of a window counts as at least; by default three times the
            interval at which the original commits.
        recent_ms: a log that was no longer than the last commit within this time excuses a stop.
    """

    allowed_lag: int = 0
    minimum_complete: float = 0.0
    least_span_ms: int = 180_000
    recent_ms: int = 300_000


# A large cluster has half a million of them: see ``model``.
class BurrowPartitionStatus(NamedTuple):
    """One partition.

    Attributes:
        topic_partition: which.
        status: never NOTFOUND or ERR.
        owner: who has it.
        current_lag: in records; 0 where it is not known, as in Burrow.
        complete: how full its window of commits is, 0 to 1.
        start: the first commit of the window.
        end: the last one.
    """

    topic_partition: TopicPartition
    status: BurrowStatus
    owner: str | None
    current_lag: int
    complete: float = 0.0
    start: CommitSample | None = None
    end: CommitSample | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowGroupStatus:
    """A group.

    Attributes:
        status: NOTFOUND, OK, WARN or ERR: the worst of its partitions, of which none is worse
            than ERR here.
        complete: the part of its partitions whose windows are full, 0 to 1.
        partitions: all of them, in the group's order.
    """

    status: BurrowStatus
    complete: float = 0.0
    partitions: tuple[BurrowPartitionStatus, ...] = ()

    @property
    def total_lag(self) -> int:
        """The sum of all lags that are known."""
        return sum(one.current_lag for one in self.partitions)

    @property
    def max_lag(self) -> BurrowPartitionStatus | None:
        """The partition with the largest lag; the first of several."""
        return max(self.partitions, key=lambda one: one.current_lag, default=None)


def evaluate_group(
    group: GroupStatus | None,
    history: History,
    now_ms: int,
    settings: BurrowSettings | None = None,
) -> BurrowGroupStatus:
    """Judge a group by what was recorded of it.

    Args:
        group: as it is seen now; None: there is no such group. One that is abandoned counts as
            none: Burrow forgets groups that have not committed for long (its ``expire-group``).
        history: which has recorded the snapshot that ``group`` is from.
        now_ms: the time to count from.
        settings: where they are not the usual ones.
    """
    if group is None or group.state is GroupState.ABANDONED:
        return BurrowGroupStatus(status=BurrowStatus.NOTFOUND)
    settings = settings or BurrowSettings()
    commits = history.commits(group.key)
    found: list[BurrowPartitionStatus] = []
    for partition in group.partitions:
        tp, status = partition.topic_partition, BurrowStatus.OK
        lag = records_behind(group.kind, partition) or 0
        series = commits.get(tp)
        committed = partition.effective(group.kind)
        # Who commits while nobody can look at it has not stopped.
        read_ms = now_ms if committed is None else min(now_ms, committed.seen_ms)
        if not series:
            found.append(BurrowPartitionStatus(tp, status, partition.owner, lag))
            continue
        complete = len(series) / series.limit
        if lag > settings.allowed_lag and complete >= settings.minimum_complete:
            log_ends = history.log_ends(tp)
            recent = () if log_ends is None else log_ends.since(read_ms - settings.recent_ms)
            status = partition_status(tuple(series), recent, lag, read_ms, settings)
        found.append(
            BurrowPartitionStatus(
                tp, status, partition.owner, lag, complete, series.first, series.last
            )
        )
    worst = max((one.status for one in found), default=BurrowStatus.OK)
    full = sum(one.complete >= 1.0 for one in found)
    return BurrowGroupStatus(
        status=min(worst, BurrowStatus.ERR),
        complete=full / len(found) if found else 0.0,
        partitions=tuple(found),
    )


def partition_status(
    commits: Sequence[CommitSample],
    recent_log_ends: Sequence[int],
    current_lag: int,
    now_ms: int,
    settings: BurrowSettings,
) -> BurrowStatus:
    """Judge one partition.

    Args:
        commits: the window, in the order of time, at least one.
        recent_log_ends: how long the log was in the last minutes.
        current_lag: in records.
        now_ms: the time to count from.
        settings: what can be set.
    """
    if current_lag <= settings.allowed_lag:
        return BurrowStatus.OK
    # A stop is an error even if there was no lag once: the window can be very old.
    if _stopped(commits, now_ms, settings.least_span_ms) and not any(
        log_end <= commits[-1].offset for log_end in recent_log_ends
    ):
        return BurrowStatus.STOP
    # Before the look for a time without lag, since groups that read along rewind, too.
    if _rewound(commits):
        return BurrowStatus.REWIND
    lags = [one.lag for one in commits if one.lag is not None]
    if any(lag <= settings.allowed_lag for lag in lags):
        return BurrowStatus.OK
    if len(commits) == 1:
        return BurrowStatus.OK
    if all(one.offset == commits[0].offset for one in commits):
        return BurrowStatus.STALL
    if all(before <= after for before, after in pairwise(lags)):
        return BurrowStatus.WARN
    return BurrowStatus.OK


def _stopped(commits: Sequence[CommitSample], now_ms: int, least_span_ms: int) -> bool:
    """Return whether it has been silent for longer than the window is long."""
    span_ms = commits[-1].at_ms - commits[0].at_ms
    return now_ms - commits[-1].at_ms > max(span_ms, least_span_ms)


def _rewound(commits: Sequence[CommitSample]) -> bool:
    """Return whether it went back for the first time and has not come as far again since."""
    for index, (before, after) in enumerate(pairwise(commits), start=1):
        if after.offset < before.offset:
            return all(one.offset < before.offset for one in commits[index:])
    return False
