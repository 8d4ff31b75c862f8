"""One partition of a stream's fetcher: its claim, and the core's fetch state of it. Pure.

The capacity of its queue bounds what is fetched of it.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.core.partition_state import PartitionState, Phase

_ACCEPTED_LEAST: Final = 4
"""How many responses in a row a queue must take at once before the next is requested early."""


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


@dataclass(slots=True, eq=False)
class StreamPartition:
    """A partition that is fetched for a stream: its claim, fetch state, and waiting chunk.

    Attributes:
        claim: the claim that it is fetched under.
        state: its fetch state; unpacked records are taken out of it at once.
        pending: a chunk that the full queue did not take.
        outside: the out-of-range offset, while the reset policy's is looked up; else None.
    """

    claim: PartitionClaim
    state: PartitionState
    pending: Chunk | None = None
    outside: int | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a chunk or packed set has to be delivered before the next request."""
        return self.pending is not None or self.state.packed is not None

    @property
    def is_halted(self) -> bool:
        """Whether reading has stopped at an error, which has been handed to the stream."""
        return self.state.phase is Phase.STUCK

    @property
    def is_ready(self) -> bool:
        """Whether the next Fetch request should include it."""
        return self.state.may_fetch and not self.is_waiting

    @property
    def offset(self) -> int:
        """The next offset to fetch; it must be known."""
        position = self.state.position
        assert position is not None
        return position.offset

    @property
    def resume_offset(self) -> int | None:
        """The offset from which another fetcher loses no undelivered record.

        A jump that waits for capacity is kept: looking up the start again instead could skip
        records written in between.
        """
        if self.pending is not None:
            return self.pending.fetch_offset
        position = self.state.position
        return self.outside if position is None else position.offset

    def returned(self, reason: str) -> LeaderUnusable:
        """Return a report for the leader finder, with a jump that waits for capacity."""
        jumps = self.pending is not None and self.pending.is_jump
        return LeaderUnusable(self.claim, self.resume_offset, reason, jumps=jumps)


class QueueCapacity:
    """Track which queues have capacity, turn by turn; see ``FetchBounds``.

    An early response is dropped if the set before it still waits for capacity, since no second set
    may wait here. So requests are early only for queues that took the last few responses at once.
    """

    def __init__(self, on_capacity: Callable[[], None]) -> None:
        self.busy: set[ChunkSink] = set()
        self.served: set[ChunkSink] = set()
        self._expecting: dict[ChunkSink, bool] = {}  # of sets to unpack: may more be requested?
        self._accepted: dict[ChunkSink, int] = {}  # responses in a row that it took at once
        self._on_capacity = on_capacity

    def begin_turn(self, busy: Iterable[ChunkSink]) -> None:
        """Record which queues have chunks or sets waiting, before the next request is planned."""
        self.busy = set(busy)
        took = {sink: self._accepted.get(sink, 0) + 1 for sink in self._expecting}
        accepted = self._accepted | took
        self._accepted = {sink: times for sink, times in accepted.items() if sink not in self.busy}
        self._expecting.clear()
        self.served.clear()

    def expect_set(self, sink: ChunkSink) -> None:
        """Record that a set for a queue is about to be unpacked."""
        if sink not in self._expecting:  # checked once: thousands of partitions may share it
            is_quick = self._accepted.get(sink, 0) >= _ACCEPTED_LEAST
            self._expecting[sink] = is_quick and self.has_capacity(sink)

    def takes_more(self, sink: ChunkSink) -> bool:
        """Return whether nothing waits for a queue, nor is likely to after the next sets."""
        return sink not in self.busy and self._expecting.get(sink, True)

    def has_capacity(self, sink: ChunkSink) -> bool:
        """Return whether anything fits into a queue; if not, ``on_capacity`` is called later."""
        return sink.free_bytes(self._on_capacity) > 0


@dataclass(frozen=True, slots=True, eq=False)
class QueueBounds:
    """Bound what to fetch by a queue's capacity.

    If something waits for a queue, no more is requested for it: its stream has work, and each chunk
    that it takes would cost a request for all of its partitions. An entry that is larger than its
    part is requested only if there is capacity, one at a time: otherwise it would only wait here.
    """

    capacity: QueueCapacity
    sink: ChunkSink

    @property
    def is_held(self) -> bool:
        """See ``FetchBounds``."""
        return self.sink in self.capacity.busy

    def size_at(self, _offset: int) -> int:
        """See ``FetchBounds``."""
        return sys.maxsize if self.capacity.takes_more(self.sink) else 0

    def takes_large(self) -> bool:
        """See ``FetchBounds``."""
        if self.sink in self.capacity.served:
            return False
        self.capacity.served.add(self.sink)
        return self.capacity.has_capacity(self.sink)

    def expect_set(self) -> None:
        """See ``FetchBounds``."""
        self.capacity.expect_set(self.sink)

    def learn(self, start: int, stop: int, size_bytes: int) -> None:
        """See ``FetchBounds``."""


def jump_to(claim: PartitionClaim, offset: int) -> Chunk:
    """Return an empty chunk that moves the stream's position, after the queued chunks."""
    return Chunk(claim, offset, offset, (), 0)
