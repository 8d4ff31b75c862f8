"""Interface of fetch loops, Python or native: one broker, one thread, many partitions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.fetch.claim import PartitionClaim


@dataclass(frozen=True, slots=True, eq=False)
class LeaderUnusable:
    """Report a partition that its fetcher can't continue: its leader must be found again.

    Attributes:
        claim: the partition's claim.
        fetch_offset: where its next fetcher must continue; None if the start is still unknown.
        reason: for the log.
        jumps: whether the stream has yet to be notified that its position moves to this offset.
    """

    claim: PartitionClaim
    fetch_offset: int | None
    reason: str
    jumps: bool = False


class FetchLoop(Protocol):
    """Fetch from one broker into the chunk queues.

    A loop sends requests, receives, checks and unpacks the responses, and queues the chunks. It
    calls its owner only through ``LoopReport``. Every implementation passes the contract suite of
    the Python one, which defines the behaviour.
    """

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """Add a partition. Thread: any.

        Args:
            claim: its claim.
            fetch_offset: where to continue; None: find its start by ``auto.offset.reset``.
            jumps: whether the stream must first be notified that its position moves to this offset.
        """
        ...

    def wake(self) -> None:
        """Check for partitions whose claims were given up. Thread: any."""
        ...

    def stop(self) -> None:
        """End soon, without queueing any more chunks. Thread: any; must not block."""
        ...

    def run(self) -> None:
        """Fetch until ``stop``; report the partitions that are left before returning."""
        ...

    def partition_count(self) -> int:
        """Return the number of its partitions, including those being added. Thread: any."""
        ...


LoopReport = Callable[[tuple[LeaderUnusable, ...]], None]
"""Reports partitions whose leader must be found again; an empty tuple means that the loop has
become idle. It must only put into a mailbox."""
