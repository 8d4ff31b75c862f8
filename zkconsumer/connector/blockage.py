"""Which partitions can't be claimed because of a node that belongs to no session: pure state."""

from collections.abc import Iterable, Mapping

from zkconsumer.model import TopicPartition


class Blockage:
    """The partitions that a member goes on without, and which of them its caller has heard of."""

    def __init__(self) -> None:
        self._now: set[TopicPartition] = set()
        self._reported: set[TopicPartition] = set()

    def __contains__(self, tp: TopicPartition) -> bool:
        return tp in self._now

    def add(self, stuck: Mapping[TopicPartition, str]) -> tuple[bool, dict[TopicPartition, str]]:
        """Note what a claim ran into.

        Returns:
            Whether any of it is new to this round, and what is new to the caller.
        """
        new = not self._now.issuperset(stuck)
        untold = {tp: text for tp, text in stuck.items() if tp not in self._reported}
        self._now.update(stuck)
        self._reported.update(untold)
        return new, untold

    def try_again(self) -> None:
        """They may be free by now: the next claim asks for them too."""
        self._now.clear()

    def claimed(self, partitions: Iterable[TopicPartition]) -> None:
        """These are ours: if they are ever blocked again, that is news."""
        self._reported.difference_update(partitions)

    def forget(self) -> None:
        """Start with nothing known."""
        self._now.clear()
        self._reported.clear()
