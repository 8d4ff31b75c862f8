"""What tests of commits share: positions, and who hears of them."""

import threading

from zkconsumer.membership.protocol import Offsets
from zkconsumer.model import OffsetAndMetadata, TopicPartition

ONE = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def at(offset: int, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
    """The same position for each of these, or for one."""
    return {tp: OffsetAndMetadata(offset, "note", 3) for tp in partitions or (ONE,)}


class Told:
    """A callback that notes what it is told, and in which thread."""

    def __init__(self) -> None:
        self.notes: list[tuple[int, Exception | None]] = []
        self.threads: set[int] = set()

    def __call__(self, offsets: Offsets, error: Exception | None) -> None:
        """See ``CommitDone``."""
        self.threads.add(threading.get_ident())
        self.notes.append((next(iter(offsets.values())).offset, error))
