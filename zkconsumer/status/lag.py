"""How far a group is behind, in records and in time. Pure.

The lag of a partition is its log end less the offset where the group would go on; never negative.
It is None where one of both is not known: a partition without a commit has no lag, as in the
original's ``ConsumerOffsetChecker``.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from zkconsumer.model import TopicPartition
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus
from zkconsumer.status.series import History, LogEndSeries

LEAST_WATCH_MS: Final = 60_000
"""For how long a log that stands still is watched at least before that says anything."""


class Standing(StrEnum):
    """Where a committed offset lies in the log; the values are what users read."""

    WITHIN = "within the log"
    BEFORE_START = "before the start of the log"
    BEYOND_END = "beyond the end of the log"
    UNKNOWN = "unknown"


# A large cluster has half a million of the next two: see ``model``.
class TimeLag(NamedTuple):
    """How old the next record to read is.

    Attributes:
        ms: its age.
        estimated: whether that is from how the log grew, since the record does not tell.
    """

    ms: int
    estimated: bool = False


class PartitionLag(NamedTuple):
    """How far a group is behind in one partition.

    Attributes:
        topic_partition: which.
        records: how many records it is behind; None where that is not known.
        time: how far it is behind in time; None where that is not known.
        standing: where its offset lies in the log.
    """

    topic_partition: TopicPartition
    records: int | None
    time: TimeLag | None
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    """How far a group is behind.

    Attributes:
        partitions: in the order of the group's.
        unknown: how many of them have no known lag; ``total`` lacks those.
    """

    partitions: tuple[PartitionLag, ...]
    unknown: int

    @property
    def total(self) -> int | None:
        """The sum of what is known; None where nothing is."""
        known = [one.records for one in self.partitions if one.records is not None]
        return sum(known) if known else None

    @property
    def worst(self) -> PartitionLag | None:
        """The partition with the most records to read; the first of several."""
        known = [one for one in self.partitions if one.records is not None]
        return max(known, key=lambda one: one.records or 0, default=None)

    @property
    def worst_time(self) -> PartitionLag | None:
        """The partition that is behind the longest; the first of several."""
        known = [one for one in self.partitions if one.time is not None]
        return max(known, key=lambda one: 0 if one.time is None else one.time.ms, default=None)


def records_behind(kind: GroupKind, partition: GroupPartition) -> int | None:
    """Return the lag of one partition in records."""
    committed = partition.effective(kind)
    if committed is None or partition.log_end is None:
        return None
    return max(0, partition.log_end - committed.offset)


def standing_of(kind: GroupKind, partition: GroupPartition) -> Standing:
    """Return where the committed offset lies in the log.

    A commit that was read after the log's end may well be larger than it: that is no fault, the
    log has grown meanwhile.
    """
    committed = partition.effective(kind)
    if committed is None or (partition.log_start is None and partition.log_end is None):
        return Standing.UNKNOWN
    if partition.log_start is not None and committed.offset < partition.log_start:
        return Standing.BEFORE_START
    if partition.log_end is None:
        return Standing.UNKNOWN
    if committed.offset <= partition.log_end:
        return Standing.WITHIN
    if partition.log_at_ms is None or partition.log_at_ms < committed.seen_ms:
        return Standing.UNKNOWN
    return Standing.BEYOND_END


def time_behind(
    offset: int,
    records: int | None,
    log_ends: LogEndSeries | None,
    now_ms: int,
    *,
    written_ms: int | None = None,
) -> TimeLag | None:
    """Return how long ago the record at a committed offset was written: the one definition of it.

    The record itself says when, where its log has timestamps (the format of 0.10 and later). Where
    not, it is estimated from when the log was seen to grow beyond the offset; for an offset that
    lies before the first look, as if it had always grown as it did since. A log that has not grown
    at all says that the record is at least as old as the first look, if that is not just now.

    Args:
        offset: the committed one.
        records: the lag; where it is 0, the group is not behind in time either.
        log_ends: those of the partition, over time.
        now_ms: the time to count from.
        written_ms: what the record says, if it does.

    Returns:
        None where the lag is not known, or there are not enough samples.
    """
    if records is None:
        return None
    if records == 0:
        return TimeLag(0)
    if written_ms is not None:
        return TimeLag(max(0, now_ms - written_ms))
    passing = None if log_ends is None else log_ends.passing(offset)
    if log_ends is None or passing is None:
        return None
    if not log_ends.grown and log_ends.watched_ms < LEAST_WATCH_MS:
        return None
    return TimeLag(max(0, now_ms - passing.at_ms), estimated=True)


def group_lag(group: GroupStatus, history: History, now_ms: int) -> GroupLag:
    """Return how far a group is behind, in every partition that it has.

    Args:
        group: as it is seen now.
        history: with the log ends of its partitions.
        now_ms: the time to count from.
    """
    found = tuple(_partition_lag(group.kind, one, history, now_ms) for one in group.partitions)
    return GroupLag(partitions=found, unknown=sum(one.records is None for one in found))


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
    return PartitionLag(tp, records, time, standing_of(kind, partition))
