"""Translates source offsets of mirrored messages to target offsets. Pure.

A mirrored partition has different offsets: the target's log may not begin at 0, others may write to
it, and retried batches leave copies. So each batch keeps a table of runs, from consecutive source
offsets to consecutive target offsets.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from zkconsumer.drain.fields import Fields, JsonValue, to_bytes
from zkconsumer.drain.proving.coverage import Run
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
        for rest in _uncovered(Run(run.from_offset, run.until_offset), kept):
            skipped = rest.from_offset - run.from_offset
            insort(kept, TranslatedRun(*rest, run.target_offset + skipped))
    return tuple(_joined(kept))


def _uncovered(wanted: Run, kept: Sequence[TranslatedRun]) -> list[Run]:
    """Return the parts of a run that none of the sorted, disjoint runs in ``kept`` cover."""
    parts = []
    at = wanted.from_offset
    # A compacted log has many runs, one after each hole: skip those that end before.
    first = bisect_right(kept, at, key=lambda run: run.until_offset)
    for number in range(first, len(kept)):
        run = kept[number]
        if run.from_offset >= wanted.until_offset:
            break
        if run.from_offset > at:
            parts.append(Run(at, run.from_offset))
        at = run.until_offset
    if at < wanted.until_offset:
        parts.append(Run(at, wanted.until_offset))
    return parts


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
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = {tp: tuple(_joined(of_tp)) for tp, of_tp in runs.items()}
        self._starts = {tp: [run.from_offset for run in of_tp] for tp, of_tp in self._runs.items()}

    @property
    def runs(self) -> Runs:
        """The runs of each topic-partition."""
        return self._runs

    def target(self, topic_partition: TopicPartition, offset: int) -> int | None:
        """Return the target offset at which a consumer at this source offset continues.

        An offset without a message counts as the next offset with a message; the offset after the
        last mirrored message counts as the offset after its copy.

        Returns:
            None if unknown: later offsets are not mirrored yet, or the partition is not mirrored at
            all.
        """
        runs = self._runs.get(topic_partition, ())
        if not runs or offset > runs[-1].until_offset:
            return None
        at = bisect_right(self._starts[topic_partition], offset) - 1
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


class TableReader:
    """Combines the tables of batches, in order."""

    def __init__(self) -> None:
        self._runs: dict[TopicPartition, list[TranslatedRun]] = {}

    def add(self, file: str, data: bytes) -> Self:
        """Add the table of the next batch.

        Raises:
            DrainError: the file is damaged.
        """
        for item in Fields.parse(file, data).items("runs"):
            run = TranslatedRun(item.integer("from"), item.integer("until"), item.integer("target"))
            self._runs.setdefault(item.topic_partition(), []).append(run)
        return self

    def translation(self) -> Translation:
        """Return the translation of all batches."""
        return Translation(self._runs)
