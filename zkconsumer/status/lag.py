"""The lag of a group, in records and in time. Pure.

The lag of a partition is its log end minus the committed offset; never negative. It is None if
either is unknown: a partition without a commit has no lag, as in the original's
``ConsumerOffsetChecker``.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus
from zkconsumer.status.series import History, LogEndSeries

LEAST_WATCH_MS: Final = 60_000
"""The minimum time to watch a log that does not grow before drawing conclusions."""


class OffsetPlacement(StrEnum):
    """The position of a committed offset in the log; the values are what users read."""

    WITHIN = "within the log"
    BEFORE_START = "before the start of the log"
    BEYOND_END = "beyond the end of the log"
    UNKNOWN = "unknown"


# A large cluster has half a million of the next two: see ``model``.
class TimeLag(NamedTuple):
    """The age of the next record to read.

    Attributes:
        ms: its age.
        estimated: whether it is inferred from the log's growth, for records without timestamps.
    """

    ms: int
    estimated: bool = False


class PartitionLag(NamedTuple):
    """The lag of one partition.

    Attributes:
        topic_partition: the partition.
        records: the lag in records; None if unknown.
        time: the lag in time; None if unknown.
    """

    topic_partition: TopicPartition
    records: int | None
    time: TimeLag | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """The lag of a group.

    Attributes:
        partitions: in the group's order.
        unknown: the number of partitions without a known lag; ``total`` lacks those.
    """

    partitions: tuple[PartitionLag, ...]
    unknown: int

    @property
    def total(self) -> int | None:
        """The sum of the known lags; None if there is none."""
        known = [lag.records for lag in self.partitions if lag.records is not None]
        return sum(known) if known else None

    @property
    def worst(self) -> PartitionLag | None:
        """The partition with the largest lag in records; the first of several."""
        known = [lag for lag in self.partitions if lag.records is not None]
        return max(known, key=lambda lag: lag.records or 0, default=None)

    @property
    def worst_time(self) -> PartitionLag | None:
        """The partition with the largest lag in time; the first of several."""
        known = [lag for lag in self.partitions if lag.time is not None]
        return max(known, key=lambda lag: 0 if lag.time is None else lag.time.ms, default=None)


def records_behind(kind: GroupKind, partition: GroupPartition) -> int | None:
    """Return the lag of one partition in records."""
    committed = partition.effective(kind)
    if committed is None or partition.log_end is None:
        return None
    return max(0, partition.log_end - committed.offset)


def placement_of(kind: GroupKind, partition: GroupPartition) -> OffsetPlacement:
    """Return the position of the committed offset in the log.

    A commit that was read after the log end may be beyond it, since the log has grown meanwhile:
    that is no fault, and the position is unknown.
    """
    committed = partition.effective(kind)
    if committed is None or (partition.log_start is None and partition.log_end is None):
        return OffsetPlacement.UNKNOWN
    if partition.log_start is not None and committed.offset < partition.log_start:
        return OffsetPlacement.BEFORE_START
    if partition.log_end is None:
        return OffsetPlacement.UNKNOWN
    if committed.offset <= partition.log_end:
        return OffsetPlacement.WITHIN
    if partition.log_at_ms is None or partition.log_at_ms < committed.seen_ms:
        return OffsetPlacement.UNKNOWN
    return OffsetPlacement.BEYOND_END


def time_behind(
    offset: int,
    records: int | None,
    log_ends: LogEndSeries | None,
    now_ms: int,
    *,
    written_ms: int | None = None,
) -> TimeLag | None:
    """Return the age of the record at a committed offset: the one definition of lag in time.

    If the log has timestamps (the format of 0.10 and later), the record's timestamp decides. If
    not, the age is estimated from when the log was seen to grow beyond the offset; for an offset
    before the first observation, by extrapolating the growth. If the log has not grown, the age is
    that of the first observation, a lower bound; or unknown, if that is recent.

    Args:
        offset: the committed offset.
        records: the lag in records; 0 means no lag in time either.
        log_ends: of the partition, over time.
        now_ms: the current time.
        written_ms: the record's timestamp, if known.

    Returns:
        None if the lag is unknown, or there are too few samples.
    """
    if records is None:
        return None
    if records == 0:
        return TimeLag(0)
    if written_ms is not None:
        return TimeLag(max(0, now_ms - written_ms))
    passed_ms = None if log_ends is None else log_ends.passed_ms(offset)
    if log_ends is None or passed_ms is None:
        return None
    if not log_ends.grown and log_ends.watched_ms < LEAST_WATCH_MS:
        return None
    return TimeLag(max(0, now_ms - passed_ms), estimated=True)


def group_lag(group: GroupStatus, history: History, now_ms: int) -> GroupLag:
    """Return the lag of a group in all of its partitions."""
    found = tuple(
        _partition_lag(group.kind, partition, history, now_ms) for partition in group.partitions
    )
    return GroupLag(partitions=found, unknown=sum(lag.records is None for lag in found))


def _partition_lag(
    kind: GroupKind, partition: GroupPartition, history: History, now_ms: int
) -> PartitionLag:
    tp = partition.topic_partition
    committed, records = partition.effective(kind), records_behind(kind, partition)
    time = None
    if committed is not None:
        time = time_behind(
            committed.offset,
            records,
            history.log_ends(tp),
            now_ms,
            written_ms=partition.next_written_ms,
        )
    return PartitionLag(tp, records, time)
