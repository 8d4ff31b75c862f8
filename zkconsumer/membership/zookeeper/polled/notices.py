"""The control thread's notices for the caller's thread, in the order of the events."""

from collections import deque
from dataclasses import dataclass

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition

Partitions = frozenset[TopicPartition]


class PartitionsRequested:
    """Partitions that others wait for: the caller may finish their records and commit.

    Either the caller begins in time, or the notice expires; never both.

    Attributes:
        partitions: the partitions.
        done: whether the caller is done. Written by its thread.
    """

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self.done = False
        # One item that only one of two threads gets: taking it needs no lock.
        self._token: deque[None] = deque([None])

    def begin(self) -> bool:
        """Begin the hand-over; return False if it is too late. Thread: the caller's."""
        return self._take()

    def expire(self) -> bool:
        """Expire; return False if the caller has begun. Thread: control."""
        return self._take()

    def _take(self) -> bool:
        try:
            self._token.pop()
        except IndexError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ClaimsLost:
    """Partitions that were lost without a hand-over."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Started:
    """A rebalance has finished; these claims are new."""

    claims: tuple[PartitionClaim, ...]


Notice = PartitionsRequested | ClaimsLost | Started
