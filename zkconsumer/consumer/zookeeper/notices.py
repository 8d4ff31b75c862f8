"""What the control thread has to tell the caller's thread, in the order in which it happened."""

from collections import deque
from dataclasses import dataclass

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition

Partitions = frozenset[TopicPartition]


class PartitionsRequested:
    """Partitions that others wait for: the caller may finish what he has of them, and commit.

    Either the caller begins with it in time, or it expires; never both.

    Attributes:
        partitions: which.
        done: whether the caller is through. Written by his thread.
    """

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self.done = False
        # One thing that one of two threads gets: taking it needs no lock.
        self._token: deque[None] = deque([None])

    def begin(self) -> bool:
        """The caller begins; False where it is too late. Thread: the caller's."""
        return self._take()

    def expire(self) -> bool:
        """It is over; False where the caller has begun. Thread: control."""
        return self._take()

    def _take(self) -> bool:
        try:
            self._token.pop()
        except IndexError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ClaimsLost:
    """Partitions that are gone without a hand-over."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Started:
    """A rebalance is through; these claims came to what we have."""

    claims: tuple[PartitionClaim, ...]


Notice = PartitionsRequested | ClaimsLost | Started
