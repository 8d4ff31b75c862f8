"""What tests of commits share: offsets, and a callback that records its calls."""

import threading

from zkconsumer.membership.protocol import Offsets
from zkconsumer.model import OffsetAndMetadata, TopicPartition

ONE = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def at(offset: int, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the same offset for each of these partitions; without any, for ``ONE``."""
    return {tp: OffsetAndMetadata(offset, "note", 3) for tp in partitions or (ONE,)}


class RecordedCallback:
    """A commit callback that records its calls, and their threads."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Exception | None]] = []
        self.threads: set[int] = set()

    def __call__(self, offsets: Offsets, error: Exception | None) -> None:
        """See ``CommitDone``."""
        self.threads.add(threading.get_ident())
        self.calls.append((next(iter(offsets.values())).offset, error))
