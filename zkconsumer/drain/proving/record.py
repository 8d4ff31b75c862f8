"""Combines the plans and manifests of all batches into one record. Pure.

The record itself is checked for holes: each batch must begin where the previous one ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.manifest import Absence, LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.coverage import Discrepancy, Run
from zkconsumer.model import TopicPartition


@dataclass(slots=True, kw_only=True)
class PartitionRecord:
    """The landed offsets of one topic-partition, as recorded by the batches.

    Attributes:
        start: the first offset to land.
        end: the next offset to land.
        contents: the contents that all batches landed, dead letters included.
        dead_lettered: the number of dead letters among these rows.
        excuses: offsets between these that the log did not have, by reason.
        unnoted: the number of offsets within the excuses that exist: if a batch had too many holes
            to record individually, an excuse spans several, with the messages in between.
        problems: contradictions between batches.
    """

    start: int
    end: int
    contents: Contents = field(default_factory=Contents)
    excuses: dict[Discrepancy, list[Run]] = field(default_factory=dict)
    unnoted: int = 0
    dead_lettered: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> Run:
        """The offsets that must exist."""
        return Run(self.start, self.end)

    @property
    def absent(self) -> int:
        """The number of offsets that the log did not have."""
        return sum(run.length for runs in self.excuses.values() for run in runs) - self.unnoted

    def excuse(self, kind: Discrepancy, run: Run) -> None:
        """Record that the log did not have these offsets."""
        self.excuses.setdefault(kind, []).append(run)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRecord:
    """The combined record of all batches.

    Attributes:
        batches: the number of landed batches.
        partitions: the record of each known topic-partition.
        files: the files of all batches, by path.
        dead_letters: the files of dead letters of all batches, by path.
    """

    batches: int
    partitions: dict[TopicPartition, PartitionRecord]
    files: dict[str, LandedFile]
    dead_letters: dict[str, LandedFile] = field(default_factory=dict)


def read_record(landed: Iterable[tuple[BatchPlan, Manifest]]) -> VerificationRecord:
    """Combine all batches into one record.

    Args:
        landed: the plan and the manifest of every landed batch, in order.
    """
    partitions: dict[TopicPartition, PartitionRecord] = {}
    files: dict[str, LandedFile] = {}
    dead: dict[str, LandedFile] = {}
    batches = 0
    for plan, manifest in landed:
        batches += 1
        for tp, start in plan.starts.items():
            partitions.setdefault(tp, PartitionRecord(start=start, end=start))
        for lost in plan.expired:
            entry = _entry(partitions, plan, lost.topic_partition, lost.from_offset)
            entry.excuse(Discrepancy.EXPIRED, Run(lost.from_offset, lost.until_offset))
            entry.end = lost.until_offset
        for part in manifest.parts:
            wanted = part.offsets
            entry = _entry(partitions, plan, part.topic_partition, wanted.from_offset)
            entry.contents += part.contents
            entry.dead_lettered += part.dead_lettered
            for absence in part.absent:
                _note(entry, absence)
            entry.end = wanted.until_offset
        files.update((file.path, file) for file in manifest.files)
        dead.update((file.path, file) for file in manifest.dead_letters)
    return VerificationRecord(
        batches=batches, partitions=partitions, files=files, dead_letters=dead
    )


def _entry(
    partitions: dict[TopicPartition, PartitionRecord], plan: BatchPlan, tp: TopicPartition, at: int
) -> PartitionRecord:
    """Return the record of a partition that a batch continues at this offset."""
    entry = partitions.get(tp)
    if entry is None:
        entry = partitions[tp] = PartitionRecord(start=at, end=at)
        entry.problems.append(f"batch {plan.number} is the first of {tp}, and no start was noted")
    elif entry.end != at:
        entry.problems.append(
            f"batch {plan.number} begins at offset {at}, and those before it end at {entry.end}"
        )
    return entry


def _note(entry: PartitionRecord, absence: Absence) -> None:
    run = Run(absence.from_offset, absence.until_offset)
    entry.excuse(absence.kind, run)
    entry.unnoted += run.length - absence.count
