"""Delegate partitions to a native loop, and take them back. Pure.

A partition is delegated while it is *supported*: it is owned, its offset is known, no chunk of it
waits in Python, and its queue is native. ``StreamPartitions`` keeps the others, and so handles
errors, unreadable entries, entries larger than their part, and unknown offsets. If an unsupported
chunk waits for a queue, it also keeps all other partitions of that queue: nothing may overtake the
chunk.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.core.completed import NOTHING, PackedSet
from zkconsumer.fetch.core.delegated import Returned, in_topics
from zkconsumer.fetch.core.record_set import RecordSet
from zkconsumer.fetch.stream_partition import StreamPartition
from zkconsumer.fetch.stream_partitions import StreamPartitions
from zkconsumer.wire.messages.fetch import FetchedPartition


@dataclass(frozen=True, slots=True, eq=False)
class Delegation:
    """Describe what a native loop has to fetch.

    Attributes:
        parts: the delegated partitions, grouped by topic; they are requested and returned in this
            order.
        part_bytes: size to request of each.
        grown_bytes: the largest size for a partition that is far behind.
        others_wait: whether others wait for capacity, so that the broker must not wait for data.
    """

    parts: list[StreamPartition]
    part_bytes: int
    others_wait: bool
    grown_bytes: int = 0


@dataclass(slots=True, eq=False)
class NativeDelegate:
    """Delegate the partitions of a fetcher to a native loop, and take them back.

    Args:
        partitions: the partitions; nothing else touches them during a delegation.
        can_fill: whether a native loop can put chunks into a queue.

    Attributes:
        unsupported: claims whose packed sets Python has to unpack.
    """

    partitions: StreamPartitions
    can_fill: Callable[[ChunkSink], bool]
    unsupported: set[PartitionClaim] = field(default_factory=set)

    def delegate(
        self, has_capacity: Callable[[ChunkSink], bool], *, has_hard_bounds: bool
    ) -> Delegation | None:
        """Return the partitions to delegate now; None if Python must send requests first.

        Args:
            has_capacity: returns whether a queue has capacity, for entries larger than their part.
            has_hard_bounds: whether the broker has no limit for the whole response.
        """
        parts = [part for part in self.partitions.in_turn() if part.claim.active]
        for part in parts:
            packed = part.state.packed
            if packed is not None and packed.records.misplaced is not None:
                self.unsupported.add(part.claim)
        if not all(self.can_fill(part.claim.sink) for part in parts):
            return None
        shares = self.partitions.shares(has_hard_bounds=has_hard_bounds)
        large = _large_sinks(parts, shares.part_bytes)
        if any(has_capacity(sink) for sink in large):
            return None
        kept = {part.claim.sink for part in parts if self._holds_up(part)} | large
        delegated = [
            part
            for part in parts
            if part.claim.sink not in kept and part.state.may_fetch and part.pending is None
        ]
        if not delegated:
            return None
        others_wait = len(delegated) < sum(part.is_ready or part.is_waiting for part in parts)
        return Delegation(
            in_topics(delegated, lambda part: part.claim.topic_partition),
            shares.part_bytes,
            others_wait,
            shares.grown_bytes,
        )

    def keeps(self, *, has_hard_bounds: bool) -> list[PartitionClaim]:
        """Return the claims whose packed sets Python has to unpack, in the order of their turns."""
        shares = self.partitions.shares(has_hard_bounds=has_hard_bounds)
        large = _large_sinks(self.partitions.in_turn(), shares.part_bytes)
        packed = self.partitions.packed()
        return [claim for claim in packed if claim in self.unsupported or claim.sink in large]

    def take_back(self, delegation: Delegation, returned: Iterable[Returned], now_ms: int) -> None:
        """Take the partitions back, as if Python had fetched them itself.

        Args:
            delegation: the delegation.
            returned: the state of each.
            now_ms: the time.
        """
        turns: list[tuple[int, StreamPartition]] = []
        states = self.partitions.states
        self.unsupported = {claim for claim in self.unsupported if claim.active}
        for part, back in zip(delegation.parts, returned, strict=True):
            self._restore(part, back)
            if back.turn:
                turns.append((back.turn, part))
            if part.is_ready and part.claim.active and (back.error_code or back.is_left_out):
                request = self.partitions.request_at(part, delegation.part_bytes)
                states.begin([request])
                if back.is_left_out:
                    states.left_out([request], now_ms)
                else:
                    states.arrived([(request, _refusal(part, back), NOTHING)], now_ms)
        for _, part in sorted(turns, key=lambda turn: turn[0]):
            states.end_turn(part.state)

    def _restore(self, part: StreamPartition, back: Returned) -> None:
        """Apply the native loop's progress to a partition's state."""
        state = part.state
        if back.fetch_offset != part.offset:
            state.go_on_at(back.fetch_offset)
            part.claim.doubts = state.doubts = 0
        state.drop_requests()
        state.high_watermark = part.claim.high_watermark
        state.needed_bytes = back.needed_bytes
        state.grown_bytes = back.grown_bytes
        if back.packed is not None:
            records = RecordSet(*back.packed)
            request = self.partitions.request_at(part, records.requested_bytes)
            self.partitions.states.begin([request])
            state.packed = PackedSet(request, None, records)
        if back.is_unsupported:
            self.unsupported.add(part.claim)
            if state.packed is not None and not state.packed.records.at_byte:
                self.partitions.judge_offsets(part)  # they may be out of order

    def forget_unpacked(self) -> None:
        """Forget the unsupported sets that have been unpacked."""
        if self.unsupported:
            self.unsupported &= set(self.partitions.packed())

    def _holds_up(self, part: StreamPartition) -> bool:
        """Return whether a chunk that can't be delegated waits for its queue."""
        is_unsupported = part.state.packed is not None and part.claim in self.unsupported
        return part.pending is not None or is_unsupported


def _refusal(part: StreamPartition, back: Returned) -> FetchedPartition:
    """Return the error response that a native loop received."""
    return FetchedPartition(
        partition=part.claim.topic_partition.partition,
        error_code=back.error_code,
        high_watermark=-1,
        records=memoryview(b""),
    )


def _large_sinks(parts: Iterable[StreamPartition], part_bytes: int) -> set[ChunkSink]:
    """Return the queues of partitions whose next entry exceeds their part of a response."""
    return {
        part.claim.sink for part in parts if part.is_ready and part.state.needed_bytes > part_bytes
    }
