"""Explains from the log why a batch has fewer messages than offsets. Pure.

A range of a log may have holes: offsets that compaction removed, or that expired after planning. No
other offset may be missing, so a hole is accepted only if the log has no message there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.engine import Ends
from zkconsumer.drain.manifest import Absence
from zkconsumer.drain.proving.coverage import Discrepancy, Run, uncovered
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.data_loss import LogBounds

NOTED = 1_000
"""The maximum number of a partition's holes to record individually; more share a range."""


Ranges = Mapping[TopicPartition, OffsetRange]
PartitionRuns = Iterable[tuple[TopicPartition, Iterable[Run]]]
RunsOf = Callable[[Ranges], PartitionRuns]
"""Returns the sorted runs of partitions within ranges; it may omit partitions without runs."""


def absences(
    ranges: Sequence[OffsetRange],
    contents: Mapping[TopicPartition, Contents],
    readings: tuple[RunsOf, RunsOf],
    ends: Ends,
) -> dict[TopicPartition, tuple[Absence, ...]]:
    """Return the offsets without a message, for partitions with fewer rows than offsets.

    Args:
        ranges: the planned ranges.
        contents: the contents of the landed rows.
        readings: the first returns the runs of the landed rows, the other those of a second read of
            the log.
        ends: reads log starts and ends.

    Raises:
        DrainError: the cluster has messages that were not landed; or see ``explain``.
    """
    doubtful = {
        wanted.topic_partition: wanted
        for wanted in ranges
        if contents.get(wanted.topic_partition, Contents()).rows != wanted.count
    }
    if not doubtful:
        return {}
    landed, again = readings
    whole = {tp: Run(wanted.from_offset, wanted.until_offset) for tp, wanted in doubtful.items()}
    holes = {tp: [run] for tp, run in whole.items()}
    for tp, runs in landed(doubtful):
        holes[tp] = uncovered(whole[tp], runs)
    for tp, runs in again(doubtful):
        refuse_missed(doubtful[tp], holes[tp], runs)
    logs = ends(list(doubtful), {})
    return {tp: explain(wanted, holes[tp], logs) for tp, wanted in doubtful.items()}


def refuse_missed(wanted: OffsetRange, holes: Sequence[Run], again: Iterable[Run]) -> None:
    """Check that a second read has no message where the first had holes.

    Args:
        wanted: the range that was read twice.
        holes: the holes of the first read, sorted.
        again: the sorted runs of the second read.

    Raises:
        DrainError: the first read missed messages.
    """
    left = iter(holes)
    hole = next(left, None)
    for run in again:
        while hole is not None and hole.until_offset <= run.from_offset:
            hole = next(left, None)
        if hole is None:
            return
        if run.until_offset > hole.from_offset:
            raise DrainError(
                f"{wanted}: the first read of the log missed offset "
                f"{max(run.from_offset, hole.from_offset)}, which a second read found. Nothing was "
                "published; run the drain again"
            )


def explain(wanted: OffsetRange, holes: Sequence[Run], logs: LogBounds) -> tuple[Absence, ...]:
    """Return every hole with its reason.

    Args:
        wanted: the range.
        holes: the holes in it, sorted.
        logs: the current starts and ends of logs.

    Raises:
        DrainError: the log ends before the range does, although it included the range once.
    """
    begin, end = logs.earliest[wanted.topic_partition], logs.latest[wanted.topic_partition]
    if holes and holes[-1].until_offset > end:
        raise DrainError(
            f"{wanted}: the log ends at {end} now: the topic was deleted and recreated, or "
            "its log truncated. Nothing was published; drain it to another path"
        )
    expired, compacted = [], []
    for hole in holes:
        cut = min(max(hole.from_offset, begin), hole.until_offset)
        if hole.from_offset < cut:
            expired.append(Run(hole.from_offset, cut))
        if cut < hole.until_offset:
            compacted.append(Run(cut, hole.until_offset))
    return (*_noted(expired, Discrepancy.EXPIRED), *_noted(compacted, Discrepancy.COMPACTED))


def _noted(holes: Sequence[Run], kind: Discrepancy) -> list[Absence]:
    size = -(-len(holes) // NOTED) or 1
    pieces = [holes[at : at + size] for at in range(0, len(holes), size)]
    return [
        Absence(
            from_offset=piece[0].from_offset,
            until_offset=piece[-1].until_offset,
            count=sum(hole.length for hole in piece),
            kind=kind,
        )
        for piece in pieces
    ]
