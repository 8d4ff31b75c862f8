"""Where the source's logs ended at the start, and which are still to be reached. Pure."""

from collections.abc import Iterable, Mapping

from zkconsumer.model import TopicPartition


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
        self._missing = {tp for tp, end in ends.items() if starts.get(tp, 0) < end}

    @property
    def missing(self) -> frozenset[TopicPartition]:
        """Those that are not reached."""
        return frozenset(self._missing)

    def reached(self, tp: TopicPartition, position: int) -> None:
        """Everything in front of this offset of a partition is in the target."""
        if tp in self._missing and position >= self.ends[tp]:
            self._missing.discard(tp)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are gone: nobody will reach their ends."""
        self._missing.difference_update(partitions)
