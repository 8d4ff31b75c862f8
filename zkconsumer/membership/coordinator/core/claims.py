"""The partitions that may be committed, each with the number of its last take-over. Pure.

A queued commit must not be sent if its partition was lost in the meantime, even if it came back:
the position is from before the loss, and others may have read on from it.
"""

from collections.abc import Collection, Iterable, Mapping

from zkconsumer.model import TopicPartition

TakeOvers = Mapping[TopicPartition, int]
"""For each partition, the number of the take-over that made it ours."""


class Claims:
    """One member's partitions, from take-over until they are given up or lost."""

    def __init__(self) -> None:
        self._take_overs: dict[TopicPartition, int] = {}
        self._count = 0

    def take(self, added: Iterable[TopicPartition]) -> None:
        """Add partitions that were taken over."""
        self._count += 1
        self._take_overs.update(dict.fromkeys(added, self._count))

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that were given up."""
        for tp in partitions:
            self._take_overs.pop(tp, None)

    def void(self) -> None:
        """Remove all partitions, which are lost."""
        self._take_overs.clear()

    def take_overs(self, partitions: Collection[TopicPartition]) -> TakeOvers:
        """Return the take-overs of those partitions that are ours."""
        return {tp: self._take_overs[tp] for tp in partitions if tp in self._take_overs}

    def gone(self, partitions: Iterable[TopicPartition], since: TakeOvers) -> list[TopicPartition]:
        """Return the partitions that are not ours now, or were taken over again after ``since``."""
        mine = self._take_overs
        return sorted(tp for tp in partitions if tp not in mine or mine[tp] != since.get(tp))
