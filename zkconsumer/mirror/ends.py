"""Tracks which of the source's log ends, as of the start, are still to be reached. Pure."""

from collections.abc import Collection, Mapping
from typing import Final

from zkconsumer.model import TopicPartition

READINGS: Final = 30
"""Consecutive reads needed to believe a lower log end, or a committed offset after the end."""


class Ends:
    """The log ends that a mirror has to reach. Thread: one at a time.

    Args:
        ends: the log ends of all existing partitions.
        starts: the log start offsets: the end of an empty log is reached at once.
    """

    def __init__(
        self, ends: Mapping[TopicPartition, int], starts: Mapping[TopicPartition, int]
    ) -> None:
        self.ends = dict(ends)
        self._shorter: dict[TopicPartition, int] = {}
        self._cut_off: dict[TopicPartition, tuple[int, int, int]] = {}
        self._missing = {tp for tp, end in ends.items() if starts.get(tp, 0) < end}

    @property
    def missing(self) -> frozenset[TopicPartition]:
        """The partitions whose end is not reached."""
        return frozenset(self._missing)

    def reached(self, tp: TopicPartition, position: int) -> None:
        """Record that everything before this offset is in the target."""
        if tp in self._missing and position >= self.ends[tp]:
            self._missing.discard(tp)

    def reached_by_others(self, tp: TopicPartition, committed: int, end: int) -> None:
        """Record an offset that other processes have committed, and the current log end.

        An offset after the end belongs to a truncated log, and its reader will step back from it:
        the end counts as reached only after many consecutive reads without a commit or a write.
        """
        if committed <= end:
            self._cut_off.pop(tp, None)
            self.reached(tp, committed)
            return
        *before, readings = self._cut_off.get(tp, (committed, end, 0))
        readings = readings + 1 if before == [committed, end] else 1
        self._cut_off[tp] = committed, end, readings
        if readings >= READINGS:
            self.reached(tp, end)

    def shorten(self, tp: TopicPartition, end: int) -> bool:
        """Record a log end; return whether it replaces the end to be reached.

        It is replaced only after many consecutive reads: a new leader may briefly report less
        (KIP-207).
        """
        if tp not in self._missing or end >= self.ends[tp]:
            self._shorter.pop(tp, None)
            return False
        snapshots = self._shorter[tp] = self._shorter.get(tp, 0) + 1
        if snapshots < READINGS:
            return False
        self.ends[tp] = end
        return True

    def forget_all_but(self, topics: Collection[str]) -> None:
        """Drop the partitions of other topics, which were deleted: their ends can't be reached."""
        self._missing = {tp for tp in self._missing if tp.topic in topics}
