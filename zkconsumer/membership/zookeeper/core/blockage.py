"""Tracks partitions that can't be claimed because of a node that belongs to no session. Pure."""

from collections.abc import Iterable, Mapping

from zkconsumer.model import TopicPartition


class Blockage:
    """The partitions that a member does without, and those already reported to its caller."""

    def __init__(self) -> None:
        self._now: set[TopicPartition] = set()
        self._reported: set[TopicPartition] = set()

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._now

    def add(self, stuck: Mapping[TopicPartition, str]) -> tuple[bool, dict[TopicPartition, str]]:
        """Add partitions whose owner nodes are never deleted by themselves.

        Returns:
            Whether any of them is new in this round, and those not yet reported to the caller.
        """
        new = not self._now.issuperset(stuck)
        unreported = {tp: text for tp, text in stuck.items() if tp not in self._reported}
        self._now.update(stuck)
        self._reported.update(unreported)
        return new, unreported

    def try_again(self) -> None:
        """Let the next claim include all of them: they may be free by now."""
        self._now.clear()

    def claimed(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget that these were reported: they are ours, so a later blockage is reported again."""
        self._reported.difference_update(partitions)

    def forget(self) -> None:
        """Clear everything."""
        self._now.clear()
        self._reported.clear()
