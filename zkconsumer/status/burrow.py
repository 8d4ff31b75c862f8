"""Evaluates groups as Burrow does: by their progress, not by the size of their lag. Pure.

No thresholds: the last commits of each partition are compared with their lag. The rules, their
order and the numbers are Burrow's (linkedin/Burrow, ``core/internal/evaluator/caching.go`` and
``core/protocol/evaluator.go``). Three things differ:

- Burrow calls a partition stopped when its last commit is older than its window is long. A window
  of one commit, or of a fast burst, has almost no length, so here ``LEAST_SPAN_MS`` is the minimum;
  in Burrow it is 0.
- One commit shows neither a stall nor a growing lag, so it is OK. In Burrow it is a STALL: each
  lagging group would be an error until its second commit after our start.
- Where commit times are unknown, commits are seen only by their offsets (see ``series``): a
  group that commits the same offset repeatedly is then STOP, not STALL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import GroupState, GroupStatus
from zkconsumer.status.series import CommitSample, History


class BurrowStatus(IntEnum):
    """The status of a group or partition; the values are those of Burrow's metrics."""

    NOTFOUND = 0
    OK = 1
    WARN = 2
    ERR = 3
    STOP = 4
    STALL = 5
    REWIND = 6

    @property
    def meaning(self) -> str:
        """The meaning of the status, in plain words."""
        return _MEANINGS[self]


_MEANINGS = {
    BurrowStatus.NOTFOUND: "there is no such group, or it is no longer used",
    BurrowStatus.OK: "makes progress, or has nothing to read",
    BurrowStatus.WARN: "makes progress, but falls further behind",
    BurrowStatus.ERR: "a partition makes no progress",
    BurrowStatus.STOP: "no longer commits, though there is something to read",
    BurrowStatus.STALL: "commits the same offset repeatedly, though there is more to read",
    BurrowStatus.REWIND: "went back to an earlier offset, and has not caught up since",
}


LEAST_SPAN_MS: Final = 180_000
"""The minimum span of a window: three times the original's commit interval."""
RECENT_MS: Final = 300_000
"""A partition is not stopped if it had no lag at some time within this period."""


# A large cluster has half a million of them: see ``model``.
class BurrowPartitionStatus(NamedTuple):
    """The status of one partition.

    Attributes:
        topic_partition: the partition.
        status: never NOTFOUND or ERR.
        current_lag: in records; 0 if unknown, as in Burrow.
        complete: how full its window of commits is, 0 to 1.
    """

    topic_partition: TopicPartition
    status: BurrowStatus
    current_lag: int
    complete: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowGroupStatus:
    """The status of a group.

    Attributes:
        status: NOTFOUND, OK, WARN or ERR: the worst of its partitions, capped at ERR.
        complete: the share of its partitions with full windows, 0 to 1.
        partitions: all of them, in the group's order.
    """

    status: BurrowStatus
    complete: float = 0.0
    partitions: tuple[BurrowPartitionStatus, ...] = ()

    @property
    def total_lag(self) -> int:
        """The sum of all known lags."""
        return sum(partition.current_lag for partition in self.partitions)


def evaluate_group(
    group: GroupStatus | None,
    history: History,
    now_ms: int,
) -> BurrowGroupStatus:
    """Evaluate a group by its recorded history.

    Args:
        group: its current status; None: there is no such group. An abandoned one counts as none:
            Burrow forgets groups that have not committed for long (its ``expire-group``).
        history: the recorded snapshots, the one with ``group`` included.
        now_ms: the current time.
    """
    if group is None or group.state is GroupState.ABANDONED:
        return BurrowGroupStatus(status=BurrowStatus.NOTFOUND)
    commits = history.commits(group.key)
    found: list[BurrowPartitionStatus] = []
    for partition in group.partitions:
        tp, status = partition.topic_partition, BurrowStatus.OK
        lag = records_behind(group.kind, partition) or 0
        series = commits.get(tp)
        complete = len(series) / series.limit if series else 0.0
        if lag and series:
            committed, log_ends = partition.effective(group.kind), history.log_ends(tp)
            # A group that can't be read has not stopped.
            read_ms = now_ms if committed is None else min(now_ms, committed.seen_ms)
            recent = () if log_ends is None else log_ends.since(read_ms - RECENT_MS)
            status = partition_status(tuple(series), recent, lag, read_ms)
        found.append(BurrowPartitionStatus(tp, status, lag, complete))
    worst = max((partition.status for partition in found), default=BurrowStatus.OK)
    full = sum(partition.complete >= 1.0 for partition in found)
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
    least_span_ms: int = LEAST_SPAN_MS,
) -> BurrowStatus:
    """Evaluate one partition.

    Args:
        commits: the window: at least one commit, in the order of time.
        recent_log_ends: the log ends of the last minutes.
        current_lag: in records.
        now_ms: the current time.
        least_span_ms: the minimum length of a window; 0 in Burrow.
    """
    if not current_lag:
        return BurrowStatus.OK
    # A stop is an error even if the lag was once 0: the window can be very old.
    if _stopped(commits, now_ms, least_span_ms) and not any(
        log_end <= commits[-1].offset for log_end in recent_log_ends
    ):
        return BurrowStatus.STOP
    # Before the check for a commit without lag, since a group that keeps up can rewind, too.
    if _rewound(commits):
        return BurrowStatus.REWIND
    lags = [commit.lag for commit in commits if commit.lag is not None]
    if any(not lag for lag in lags):
        return BurrowStatus.OK
    if len(commits) == 1:
        return BurrowStatus.OK
    if all(commit.offset == commits[0].offset for commit in commits):
        return BurrowStatus.STALL
    if all(before <= after for before, after in pairwise(lags)):
        return BurrowStatus.WARN
    return BurrowStatus.OK


def _stopped(commits: Sequence[CommitSample], now_ms: int, least_span_ms: int) -> bool:
    """Return whether the last commit is older than the window is long."""
    span_ms = commits[-1].at_ms - commits[0].at_ms
    return now_ms - commits[-1].at_ms > max(span_ms, least_span_ms)


def _rewound(commits: Sequence[CommitSample]) -> bool:
    """Return whether the group has gone back, and not caught up again since the first time."""
    for index, (before, after) in enumerate(pairwise(commits), start=1):
        if after.offset < before.offset:
            return all(commit.offset < before.offset for commit in commits[index:])
    return False
