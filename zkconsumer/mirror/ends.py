"""Where the source's logs ended at the start, and which are still to be reached. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from zkconsumer.model import TopicPartition

LOOKS: Final = 30
"""How often in a row a log has to end too early to be believed."""


class Ends:
    """Thread: one at a time.

    Args:
        ends: of every partition that was there.
        starts: where their logs began: what is empty is reached.
    """

    def __init__(
        self, ends: Mapping[TopicPartition, int], starts: Mapping[TopicPartition, int]
    ) -> None:
        self.ends = dict(ends)
        self._shorter: dict[TopicPartition, int] = {}
        self._missing = {tp for tp, end in ends.items() if starts.get(tp, 0) < end}

    @property
    def missing(self) -> frozenset[TopicPartition]:
        """Those that are not reached."""
        return frozenset(self._missing)

    def reached(self, tp: TopicPartition, position: int) -> None:
        """Everything in front of this offset of a partition is in the target."""
        if tp in self._missing and position >= self.ends[tp]:
            self._missing.discard(tp)

    def shorten(self, tp: TopicPartition, end: int) -> bool:
        """Return its log ends here now; whether that takes the place of where it ended.

        It does after many looks in a row: a new leader says less for a moment, too (KIP-207).
        """
        if tp not in self._missing or end >= self.ends[tp]:
            self._shorter.pop(tp, None)
            return False
        snapshots = self._shorter[tp] = self._shorter.get(tp, 0) + 1
        if snapshots < LOOKS:
            return False
        self.ends[tp] = end
        return True

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are gone: nobody will reach their ends."""
        self._missing.difference_update(partitions)
