"""The seam behind which a native fetch loop can stand: one broker, one thread, many partitions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.session import LeaderUnusable
from zkconsumer.model import Broker


@dataclass(frozen=True, slots=True)
class LoopKey:
    """Which fetcher a partition belongs to: its leader, and one of ``num.consumer.fetchers``."""

    broker: Broker
    number: int


class FetchLoop(Protocol):
    """All that happens between a broker and the chunk queues.

    A loop builds requests, receives, checks and unpacks the answers, and queues the chunks. It
    turns to its owner only through ``LoopReport``: for partitions that it can't go on with. Every
    implementation passes the contract suite of the Python one, which defines the behaviour.
    """

    def add(self, claim: PartitionClaim, fetch_offset: int | None) -> None:
        """Take over a partition; None: find its start by ``auto.offset.reset``. Thread: any."""
        ...

    def wake(self) -> None:
        """Look for partitions whose claims were given up. Thread: any."""
        ...

    def stop(self) -> None:
        """End soon, without handing over anything more. Thread: any; must not block."""
        ...

    def run(self) -> None:
        """Work until ``stop``. Partitions that are left are reported before it returns."""
        ...

    def partition_count(self) -> int:
        """How many partitions it has, those on the way to it included. Thread: any."""
        ...


LoopReport = Callable[[LoopKey, tuple[LeaderUnusable, ...]], None]
"""Tells the owner of partitions that need a leader again, and with none of them that the loop has
become idle; must only put into a mailbox."""

LoopFactory = Callable[[LoopKey, LoopReport], FetchLoop]
