"""Counts of each source partition: read, acknowledged, committed, and read again. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from zkconsumer.mirror.landed import Run
from zkconsumer.model import TopicPartition


@dataclass(slots=True)
class PartitionAccount:
    """The counts of one source partition.

    Attributes:
        read: messages read, repeated ones included.
        acknowledged: messages that the target acknowledged.
        dropped: messages that the target will never accept.
        again: messages that this process had read before: others had the partition meanwhile, or
            they were not committed in time.
        gap: offsets without a message: compacted, control records, or deleted by retention.
        read_until: the offset after the last one read.
        position: everything before this offset is acknowledged; None: unknown.
        committed: the last committed offset; None: none.
        end: the log end when last read; None: not read.
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
        """Return a copy."""
        return replace(self)


class PartitionTotals:
    """The accounts of all partitions. Thread: one at a time."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, PartitionAccount] = {}

    def of(self, source: TopicPartition) -> PartitionAccount:
        """Return the account of a partition; create it if absent."""
        return self._partitions.setdefault(source, PartitionAccount())

    def partitions(self) -> dict[TopicPartition, PartitionAccount]:
        """Return all accounts, sorted."""
        return dict(sorted(self._partitions.items()))

    def add_read(self, source: TopicPartition, runs: Sequence[Run], start: int | None) -> int:
        """Record messages that were read.

        Args:
            source: their partition.
            runs: their offsets, ascending, at least one.
            start: where reading began, if these are the first.

        Returns:
            The number of offsets without a message before the first one, if that is new.
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
        """Record acknowledged messages."""
        self.of(source).acknowledged += count

    def add_dropped(self, source: TopicPartition) -> None:
        """Record a dropped message."""
        self.of(source).dropped += 1

    def reached(self, source: TopicPartition, position: int) -> None:
        """Record that everything before this offset is acknowledged."""
        account = self.of(source)
        account.position = max(position, account.position or 0)

    def committed(self, source: TopicPartition, offset: int) -> None:
        """Record a committed offset."""
        self.of(source).committed = offset

    def total(self) -> PartitionAccount:
        """Return the sum of all partitions."""
        return summed(self._partitions.values())


def summed(totals: Iterable[PartitionAccount]) -> PartitionAccount:
    """Return the sum of accounts; offsets stay unknown."""
    total = PartitionAccount()
    for account in totals:
        total.read += account.read
        total.acknowledged += account.acknowledged
        total.dropped += account.dropped
        total.again += account.again
        total.gap += account.gap
    return total
