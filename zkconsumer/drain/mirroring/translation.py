"""Translates source offsets of mirrored messages to target offsets. Pure.

A mirrored partition has different offsets: the target's log may not begin at 0, others may write to
it, and retried batches leave copies. So each batch keeps a table of runs, from consecutive source
offsets to consecutive target offsets.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from zkconsumer.drain.fields import Fields, JsonValue, to_bytes
from zkconsumer.drain.proving.coverage import Run, uncovered
from zkconsumer.model import TopicPartition


class TranslatedRun(NamedTuple):
    """Consecutive source offsets whose messages are consecutive in the target, too.

    Attributes:
        from_offset: the first source offset.
        until_offset: the source offset after the last one.
        target_offset: the first target offset.
    """

    from_offset: int
    until_offset: int
    target_offset: int


Runs = Mapping[TopicPartition, Sequence[TranslatedRun]]


def first_copies(runs: Iterable[TranslatedRun]) -> tuple[TranslatedRun, ...]:
    """Keep the first copy of each offset in the target; sort by source offset.

    Args:
        runs: in any order; several may hold the same source offsets.
    """
    kept: list[TranslatedRun] = []
    for run in sorted(runs, key=lambda run: run.target_offset):
        # A compacted log has many runs, one after each hole: skip those that end before.
        first = bisect_right(kept, run.from_offset, key=lambda run: run.until_offset)
        near = (Run(*kept[number][:2]) for number in range(first, len(kept)))
        for rest in uncovered(Run(run.from_offset, run.until_offset), near):
            skipped = rest.from_offset - run.from_offset
            insort(kept, TranslatedRun(*rest, run.target_offset + skipped))
    return tuple(_joined(kept))


def _joined(runs: Iterable[TranslatedRun]) -> list[TranslatedRun]:
    """Merge sorted, disjoint runs that continue each other in source and target."""
    joined: list[TranslatedRun] = []
    for run in runs:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.until_offset == run.from_offset
            and last.target_offset + run.from_offset - last.from_offset == run.target_offset
        ):
            joined[-1] = TranslatedRun(last.from_offset, run.until_offset, last.target_offset)
        else:
            joined.append(run)
    return joined


class Translation:
    """Translates source offsets to target offsets.

    Args:
        runs: the runs of each topic-partition, of all batches, sorted and disjoint.

    Attributes:
        runs: the same, with those merged that continue each other.
    """

    def __init__(self, runs: Runs) -> None:
        self.runs: Runs = {tp: tuple(_joined(of_tp)) for tp, of_tp in runs.items()}

    def target(self, topic_partition: TopicPartition, offset: int) -> int | None:
        """Return the target offset at which a consumer at this source offset continues.

        An offset without a message counts as the next offset with a message; the offset after the
        last mirrored message counts as the offset after its copy.

        Returns:
            None if unknown: later offsets are not mirrored yet, or the partition is not mirrored at
            all.
        """
        runs = self.runs.get(topic_partition, ())
        if not runs or offset > runs[-1].until_offset:
            return None
        at = bisect_right(runs, offset, key=lambda run: run.from_offset) - 1
        if at < 0:
            return runs[0].target_offset
        run = runs[at]
        if offset < run.until_offset or at == len(runs) - 1:
            return run.target_offset + offset - run.from_offset
        return runs[at + 1].target_offset


def to_file(batch: int, runs: Runs) -> bytes:
    """Serialize the table of one batch."""
    listed: list[JsonValue] = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "from": run.from_offset,
            "until": run.until_offset,
            "target": run.target_offset,
        }
        for tp, of_tp in sorted(runs.items())
        for run in of_tp
    ]
    return to_bytes({"batch": batch, "runs": listed})


def from_files(tables: Iterable[tuple[str, bytes]]) -> Translation:
    """Combine the tables of all batches, in order, each with the name of its file.

    Raises:
        DrainError: a file is damaged.
    """
    runs: dict[TopicPartition, list[TranslatedRun]] = {}
    for file, data in tables:
        for item in Fields.parse(file, data).items("runs"):
            run = TranslatedRun(item.integer("from"), item.integer("until"), item.integer("target"))
            runs.setdefault(item.topic_partition(), []).append(run)
    return Translation(runs)
