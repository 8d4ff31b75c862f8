"""What may be committed: partitions, each since it was last taken over. Pure.

A commit that waits in line must not go out when its partition was lost in the meantime, not even
where it came back: the position belongs to the former time, and others may have gone on from it.
"""

from collections.abc import Collection, Iterable, Mapping

from zkconsumer.model import TopicPartition

Stints = Mapping[TopicPartition, int]
"""For each partition, the number of the take-over since which it is ours."""


class Claims:
    """One member's partitions, from take-over until they are given up or lost."""

    def __init__(self) -> None:
        self._stints: dict[TopicPartition, int] = {}
        self._count = 0

    def take(self, added: Iterable[TopicPartition]) -> None:
        """These are ours from now on."""
        self._count += 1
        self._stints.update(dict.fromkeys(added, self._count))

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """These are given up."""
        for tp in partitions:
            self._stints.pop(tp, None)

    def void(self) -> None:
        """All are lost."""
        self._stints.clear()

    def stints(self, partitions: Collection[TopicPartition]) -> Stints:
        """Those of these partitions that are ours."""
        return {tp: self._stints[tp] for tp in partitions if tp in self._stints}

    def gone(self, partitions: Iterable[TopicPartition], since: Stints) -> list[TopicPartition]:
        """Those of these partitions that are not ours, or not since then."""
        mine = self._stints
        return sorted(tp for tp in partitions if tp not in mine or mine[tp] != since.get(tp))
