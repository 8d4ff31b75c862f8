"""The partitions that one fetcher reads for streams: their claims, over the core's states. Pure.

The core (``fetch.core``) decides what to request and what responses mean, for all readers. This
module adds what only streams have: a partition belongs to a claim, its chunks go into the claim's
queue while that has capacity, and a partition that can't be fetched here returns to the leader
finder.

The rule: a response counts only for a partition that is still here, still active, and still at the
requested offset. Actions for other components are returned as values.

Source: Kafka 0.8.2.2 ``AbstractFetcherThread`` and ``ConsumerFetcherThread``. Unlike there, a full
queue holds up its own partition only, an unreadable message stops its own partition only, and a
message larger than the fetch size makes the fetch grow. Partitions take turns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.fetch.core.arrivals import is_reported_only
from zkconsumer.fetch.core.completed import PartitionRequest, Unpacked, unpack_piece
from zkconsumer.fetch.core.partition_state import PendingError, Phase, PositionLookup
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.record_set import doubled, offset_after_damage, readable_part
from zkconsumer.fetch.core.shares import ResponseShares, shares_of
from zkconsumer.fetch.core.starts import LogEdge, PositionView
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import (
    LeaderUnusable,
    QueueBounds,
    QueueCapacity,
    StreamPartition,
    jump_to,
)
from zkconsumer.fetch.unreadable import needs_following_bytes, poison_in
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.absent import NO_EPOCH, NO_OFFSET
from zkconsumer.wire.messages.fetch import FetchPartition

_LEFT_OUT = TimedOffset(NO_OFFSET)
"""Lookup result of a partition that a response omits: a retry would get the same."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetReset:
    """Report that the log lacks the requested offset, so that ``auto.offset.reset`` applies."""

    claim: PartitionClaim
    out_of_range: int


Outcome = Chunk | LeaderUnusable | OffsetReset
"""What its fetcher must do: put a chunk into its claim's queue, or report."""


class StreamPartitions:
    """Hold the partitions that one fetcher reads from one broker. Thread: its fetcher's.

    Args:
        settings: fetch settings.
        broker: the broker.
        on_capacity: called once a queue that had none may have capacity again. Thread: any.

    Attributes:
        states: their fetch states.
    """

    def __init__(
        self, settings: FetchSettings, broker: Broker, on_capacity: Callable[[], None]
    ) -> None:
        self.states = PartitionStates(settings)
        self._settings = settings
        self._broker = broker
        self._parts: dict[TopicPartition, StreamPartition] = {}
        self._capacity = QueueCapacity(on_capacity)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """Add a partition; it replaces one that is here under an older claim.

        Args:
            claim: its claim.
            fetch_offset: the offset to fetch; None: find its start by the reset policy.
            jumps: whether the stream must first be notified that its position moves to this offset.
        """
        tp = claim.topic_partition
        self._remove(tp)
        self.states.add([tp])
        self.states.fresh.clear()  # no caller waits for first responses
        self.states.lead(tp, self._broker)
        start = self._settings.reset if fetch_offset is None else PositionView(fetch_offset)
        self.states.seek(tp, start)
        state = self.states.states[tp]
        state.bounds = QueueBounds(self._capacity, claim.sink)
        state.high_watermark, state.doubts = claim.high_watermark, claim.doubts
        part = self._parts[tp] = StreamPartition(claim, state)
        if jumps and fetch_offset is not None:
            part.pending = jump_to(claim, fetch_offset)

    def drop_inactive(self) -> None:
        """Remove partitions that were given up, with their chunks that waited for capacity."""
        for tp in [tp for tp, part in self._parts.items() if not part.claim.active]:
            self._remove(tp)

    def release_all(self, reason: str) -> tuple[LeaderUnusable, ...]:
        """Give every partition back: the broker can't be reached, or this fetcher ends."""
        lost = tuple(
            part.returned(reason) for part in self._parts.values() if not part.claim.halted
        )
        self.states.remove(list(self._parts))
        self.states.failures.clear()
        self._parts.clear()
        return lost

    def in_turn(self) -> list[StreamPartition]:
        """Return all partitions, in the order of their turns."""
        return [self._parts[tp] for tp in self.states.of(self._broker)]

    # --- chunks ---------------------------------------------------------------------------

    def pending(self) -> Iterator[Chunk]:
        """Iterate over the chunks that wait for capacity."""
        for part in self.in_turn():
            if part.pending is not None and part.claim.active:
                yield part.pending

    def hold(self, chunk: Chunk) -> None:
        """Keep a chunk that its queue did not take; its partition pauses meanwhile.

        The response to an early request does not count: its outcome, such as a jump, would take the
        chunk's place.
        """
        part = self._part_of(chunk.claim)
        if part is not None:
            part.pending = chunk
            part.state.drop_early()

    def delivered(self, chunk: Chunk) -> None:
        """Record that the queue took the chunk."""
        part = self._part_of(chunk.claim)
        if part is None:
            return
        if part.pending is chunk:
            part.pending = None
        if part.is_halted and chunk.poison is not None:
            chunk.claim.halted = True

    def packed(self) -> list[PartitionClaim]:
        """Return the partitions with packed sets to unpack, in the order of their turns."""
        return [
            part.claim
            for part in self.in_turn()
            if part.state.packed is not None and part.pending is None and part.claim.active
        ]

    def unpack(self, claim: PartitionClaim, free_bytes: int, now_ms: int) -> Chunk | None:
        """Unpack the next piece of a partition's set, and advance over it.

        Args:
            claim: its claim.
            free_bytes: about how much memory the records may take. A single entry is unpacked
                whatever its size.
            now_ms: the time.

        Returns:
            The chunk to deliver, or None if the piece has nothing to deliver.
        """
        part = self._part_of(claim)
        packed = None if part is None else part.state.packed
        if part is None or packed is None:
            return None
        state, start = part.state, part.offset
        piece = unpack_piece(packed, start, self._settings, free_bytes)
        if self._settings.skip_poison and needs_following_bytes(part, packed, piece):
            needed = doubled(packed.records.requested_bytes, self._settings.growth_max_bytes)
            if needed > packed.records.requested_bytes:
                piece = Unpacked(needed_bytes=needed)
        self.states.unpacked(packed.requested, piece, now_ms)
        chunk = self._take_unpacked(part, start)
        if state.trouble is not None:
            chunk = chunk or Chunk(claim, start, start, (), 0)
            self._poison(part, chunk, poison_in(part, packed, piece))
        return chunk

    def judge_offsets(self, part: StreamPartition) -> None:
        """Judge the offsets of a set that the native loop fetched (``delegation``)."""
        packed = part.state.packed
        assert packed is not None
        records = readable_part(
            packed.records,
            high_watermark=part.state.high_watermark,
            is_again=packed.requested.is_again,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
        )
        if records is None:
            part.state.drop_requests()
        else:
            part.state.packed = replace(packed, records=records)

    def let_go(self) -> None:
        """Copy the sets that wait to be unpacked, so that the response can be freed."""
        for part in self._parts.values():
            packed = part.state.packed
            if packed is not None and not packed.records.is_kept:
                part.state.packed = replace(packed, records=packed.records.kept(), frame=None)

    # --- requests and responses -----------------------------------------------------------

    def begin_turn(self) -> None:
        """Record which queues have chunks waiting, before the next request is planned."""
        parts = self._parts.values()
        self._capacity.begin_turn(part.claim.sink for part in parts if part.is_waiting)

    def shares(self, *, has_hard_bounds: bool) -> ResponseShares:
        """Return how the next response is shared out: every partition here has a part."""
        return shares_of(
            self._settings,
            [part.state.needed_bytes for part in self._parts.values() if part.is_ready],
            len(self._parts),
            has_hard_bounds=has_hard_bounds,
        )

    def requests_of(
        self, wanted: Mapping[TopicPartition, FetchPartition]
    ) -> dict[TopicPartition, PartitionRequest]:
        """Convert a request that another loop sent to the core's terms, and record it as sent."""
        requests: dict[TopicPartition, PartitionRequest] = {}
        for tp, entry in wanted.items():
            part = self._parts.get(tp)
            if part is not None and part.is_ready and part.offset == entry.fetch_offset:
                requests[tp] = self.request_at(part, entry.max_bytes)
        self.states.begin(requests.values())
        return requests

    def request_at(self, part: StreamPartition, max_bytes: int) -> PartitionRequest:
        """Return a request of a partition at its offset."""
        fetched = part.state.fetched
        assert fetched is not None
        is_again = part.state.suspect_offset == fetched.offset
        tp = part.claim.topic_partition
        return PartitionRequest(tp, fetched, max_bytes, NO_EPOCH, self._broker, is_again=is_again)

    def note_progress(self) -> None:
        """Copy high watermarks and doubts from responses into the claims."""
        for part in self._parts.values():
            if part.claim.active:
                part.claim.high_watermark = part.state.high_watermark
                part.claim.doubts = part.state.doubts

    def settle(self, lost: Mapping[TopicPartition, str]) -> list[Outcome]:
        """Return the outcomes of fetch responses.

        Args:
            lost: the partitions whose leader can't serve them, each with the reason.
        """
        self.note_progress()
        outcomes: list[Outcome] = [*self._give_back(lost)]
        for tp, state in list(self.states.line.items()):
            part, trouble = self._parts[tp], state.trouble
            if trouble is None or not part.claim.active:
                continue
            if is_reported_only(trouble.error):
                outcomes += self._give_back({tp: f"Fetch: {trouble.error}"})
            else:
                outcomes.append(self._refused(part, trouble))
        return outcomes

    # --- starts ---------------------------------------------------------------------------

    def take_starts(
        self,
        lookups: Iterable[PositionLookup],
        found: Mapping[TopicPartition, TimedOffset | int],
        now_ms: int,
    ) -> list[Outcome]:
        """Set the starts that lookups found; give back the partitions of failed lookups."""
        outcomes: list[Outcome] = []
        for lookup in lookups:
            part = self._parts.get(lookup.topic_partition)
            if part is not None and part.claim.active:
                start = found.get(lookup.topic_partition, _LEFT_OUT)
                self.states.on_reset(lookup, start, now_ms)
                outcomes += self._started(part)
        return outcomes

    def take_ends(
        self,
        lookups: Iterable[PositionLookup],
        starts: Mapping[TopicPartition, TimedOffset | int],
        ends: Mapping[TopicPartition, TimedOffset | int],
        now_ms: int,
    ) -> list[Outcome]:
        """Reset positions that are out of range; doubt a leader whose log has the offset."""
        outcomes: list[Outcome] = []
        for lookup in lookups:
            tp = lookup.topic_partition
            part = self._parts.get(tp)
            if part is None or not part.claim.active:
                continue
            start, end = starts.get(tp, _LEFT_OUT), ends.get(tp, _LEFT_OUT)
            offset = part.offset
            self.states.on_edges(lookup, start, end, now_ms)
            if part.state.phase is not Phase.RESETTING:
                outcomes += self._started(part)
                continue
            # The offset of the reset policy is known by now.
            part.outside = offset
            outcomes.append(OffsetReset(part.claim, offset))
            again = PositionLookup(tp, None, NO_EPOCH)
            self.states.begin_lookups([again])
            found = {tp: start if self._settings.reset is LogEdge.EARLIEST else end}
            outcomes += self.take_starts([again], found, now_ms)
        self.note_progress()
        return outcomes

    def _started(self, part: StreamPartition) -> Iterator[Outcome]:
        """Return the outcomes of a lookup of a partition's position."""
        state, claim, tp = part.state, part.claim, part.claim.topic_partition
        reason = self.states.effects.lost.pop(tp, None)
        if state.trouble is not None:
            reason = str(state.trouble.error)
        if reason is not None:
            self.note_progress()
            yield from self._give_back({tp: reason})
        elif state.phase is Phase.FETCHING:
            part.outside = None
            offset = part.offset
            if claim.consumed_offset is None:
                claim.consumed_offset = offset
            else:
                yield jump_to(claim, offset)

    # --- parts ----------------------------------------------------------------------------

    def _give_back(self, lost: Mapping[TopicPartition, str]) -> Iterator[LeaderUnusable]:
        for tp, reason in lost.items():
            part = self._parts.get(tp)
            if part is not None and part.claim.active:
                self._remove(tp)
                yield part.returned(reason)

    def _remove(self, tp: TopicPartition) -> None:
        if self._parts.pop(tp, None) is not None:
            self.states.remove([tp])

    def _part_of(self, claim: PartitionClaim) -> StreamPartition | None:
        part = self._parts.get(claim.topic_partition)
        return part if part is not None and part.claim is claim else None

    def _take_unpacked(self, part: StreamPartition, start: int) -> Chunk | None:
        """Move the position past an unpacked piece; return its chunk, or None if it has none."""
        state = part.state
        if not state.waiting:
            return None
        piece = state.waiting.popleft()
        state.position = piece.end
        self.states.touch(state)
        return Chunk(part.claim, start, piece.end.offset, *piece.records.take_records())

    def _refused(self, part: StreamPartition, trouble: PendingError) -> Chunk:
        """Halt a partition that the broker refuses to serve, with an error for its stream."""
        tp, offset = part.claim.topic_partition, part.offset
        failure = PartitionFailed(tp, offset, f"the broker refuses to serve it: {trouble.error}")
        chunk = Chunk(part.claim, offset, offset, (), 0)
        self._poison(part, chunk, Poison(tp, offset, None, failure))
        return chunk

    def _poison(self, part: StreamPartition, chunk: Chunk, poison: Poison) -> None:
        """End a chunk with an unreadable entry; continue after it, or halt the partition there."""
        tp, state = poison.topic_partition, part.state
        next_offset = offset_after_damage(poison.next_offset, poison.offset, state.high_watermark)
        chunk.poison = replace(poison, next_offset=next_offset)
        chunk.size_bytes += len(poison.raw)
        if self._settings.skip_poison and next_offset is not None:
            chunk.next_offset = next_offset
            self.states.seek(tp, PositionView(next_offset))
        else:
            self.states.line.pop(tp, None)  # the stream raises it
