"""Counts of each source partition: read, acknowledged, committed, and read again. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.mirror.landed import Run


@dataclass(slots=True)
class PartitionAccount:
    """The counts of one source partition.

    Attributes:
        read: messages read, repeated ones included.
        acknowledged: messages that the target acknowledged.
        dropped: messages that the target will never accept.
        again: messages that this process had read before: other members had the partition
            meanwhile, or the offsets were not committed in time.
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

    def add_read(self, runs: Sequence[Run], start: int | None) -> int:
        """Record messages that were read.

        Args:
            runs: the offsets of the messages, ascending, at least one.
            start: the offset at which reading began, if these messages are the first; else None.

        Returns:
            The number of offsets without a message before the first one, unless counted already.
        """
        first, until = runs[0][0], runs[-1][1]
        count = sum(run[1] - run[0] for run in runs)
        seen = self.read_until
        before = seen if start is None else start
        self.read += count
        if seen is not None and first < seen:
            self.again += sum(max(0, min(run[1], seen) - run[0]) for run in runs)
        self.read_until = until if seen is None else max(seen, until)
        jump = 0 if before is None else max(0, first - max(before, seen or 0))
        holes = until - first - count if seen is None or first >= seen else 0
        self.gap += jump + holes
        return jump

    def reach(self, position: int) -> None:
        """Record that everything before this offset is acknowledged."""
        self.position = max(position, self.position or 0)


_COUNTS: Final = ("read", "acknowledged", "dropped", "again", "gap")


def summed(accounts: Iterable[PartitionAccount]) -> PartitionAccount:
    """Return the sum of accounts, without their offsets."""
    added = list(accounts)
    return PartitionAccount(
        **{name: sum(getattr(account, name) for account in added) for name in _COUNTS}
    )
