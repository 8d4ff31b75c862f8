"""Counts what went from where: read, acknowledged, committed, and what came again. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from zkconsumer.mirror.landed import Run
from zkconsumer.model import TopicPartition


@dataclass(slots=True)
class PartitionAccount:
    """What became of one partition of the source.

    Attributes:
        read: messages read, those among them that were read before.
        acknowledged: messages that the target acknowledged.
        dropped: messages that were given up, which the target will never take.
        again: messages that this process read before: others had the partition meanwhile, or
            what was read of it was not committed in time.
        gap: offsets without a message: compaction, control records, or lost to the retention.
        read_until: the offset behind the last one read.
        position: everything in front of this offset is acknowledged; None: nothing is known.
        committed: the offset committed last; None: none was.
        end: the end of its log, as far as it was asked for; None: it was not.
    """

    read: int = 0
    acknowledged: int = 0
    dropped: int = 0
    again: int = 0
    gap: int = 0
    read_until: int | None = None
    position: int | None = None
    committed: int | None = None
    end: int | None = None

    def copy(self) -> Self:
        """As it is now."""
        return replace(self)


class PartitionTotals:
    """Thread: one at a time."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, PartitionAccount] = {}

    def of(self, source: TopicPartition) -> PartitionAccount:
        """Return the account of a partition, a new one where there is none."""
        return self._partitions.setdefault(source, PartitionAccount())

    def partitions(self) -> dict[TopicPartition, PartitionAccount]:
        """Return all of them, sorted."""
        return dict(sorted(self._partitions.items()))

    def add_read(self, source: TopicPartition, runs: Sequence[Run], start: int | None) -> int:
        """Messages were read.

        Args:
            source: their partition.
            runs: their offsets, ascending, at least one.
            start: where reading began, if these are the first ones.

        Returns:
            How many offsets in front of the first one have no message; only where that is new.
        """
        account = self.of(source)
        first, until = runs[0][0], runs[-1][1]
        count = sum(run[1] - run[0] for run in runs)
        before = account.read_until if start is None else start
        account.read += count
        seen = account.read_until
        if seen is not None and first < seen:
            account.again += sum(max(0, min(run[1], seen) - run[0]) for run in runs)
        account.read_until = until if seen is None else max(seen, until)
        jump = 0 if before is None else max(0, first - max(before, seen or 0))
        holes = until - first - count if seen is None or first >= seen else 0
        account.gap += jump + holes
        return jump

    def add_acknowledged(self, source: TopicPartition, count: int) -> None:
        """The target acknowledged messages."""
        self.of(source).acknowledged += count

    def add_dropped(self, source: TopicPartition) -> None:
        """A message was given up."""
        self.of(source).dropped += 1

    def reached(self, source: TopicPartition, position: int) -> None:
        """Everything in front of this is acknowledged."""
        account = self.of(source)
        account.position = max(position, account.position or 0)

    def committed(self, source: TopicPartition, offset: int) -> None:
        """An offset was committed."""
        self.of(source).committed = offset

    def total(self) -> PartitionAccount:
        """Return the counts of all partitions."""
        return summed(self._partitions.values())


def summed(totals: Iterable[PartitionAccount]) -> PartitionAccount:
    """Return the counts of several partitions; what is an offset stays unknown."""
    total = PartitionAccount()
    for account in totals:
        total.read += account.read
        total.acknowledged += account.acknowledged
        total.dropped += account.dropped
        total.again += account.again
        total.gap += account.gap
    return total
