"""Requests of one fetcher, and the effects of their responses: no socket, thread or clock.

The rule: a response counts only for a partition that is still here, still active, and still
at the requested offset. Whatever others must do (find a new leader, free capacity in a
queue) is returned as a value.

Source: Kafka 0.8.2.2 ``AbstractFetcherThread`` and ``ConsumerFetcherThread``. Unlike there, a full
queue holds up its own partition only, an unreadable message stops its own partition only, and a
message larger than the fetch size makes the fetch grow.

Partitions take turns: after its turn a partition goes to the end of the line, so that all
that share a full queue get their turns. Pure.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from zkconsumer.cluster.offset_times import TimedOffset, read_times, times_request
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.core.record_set import grown
from zkconsumer.fetch.core.requests import fetch_request, left_out, requested_in, responses_of
from zkconsumer.fetch.core.shares import ResponseShares, Wanted, share_out, shares_of
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, are_ends, is_outside
from zkconsumer.fetch.position import (
    FetchPosition,
    judge_offsets,
    jump_to,
    refused,
    start_at,
    take_response,
    unpack,
)
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import TopicPartition
from zkconsumer.wire.absent import NO_OFFSET
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse


@dataclass(frozen=True, slots=True, eq=False)
class Deliver:
    """Put this chunk into its claim's queue."""

    chunk: Chunk


@dataclass(frozen=True, slots=True, eq=False)
class LeaderUnusable:
    """Return a partition that this fetcher can't go on with: its leader must be found again.

    Attributes:
        claim: the partition's claim.
        fetch_offset: where its next fetcher must go on; None if the start is still unknown.
        reason: for the log.
        jumps: whether the stream has yet to be told that its position moves to this offset.
    """

    claim: PartitionClaim
    fetch_offset: int | None
    reason: str
    jumps: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OffsetReset:
    """Report that the log lacks the requested offset, so that ``auto.offset.reset`` applies."""

    claim: PartitionClaim
    out_of_range: int


_LEFT_OUT = TimedOffset(NO_OFFSET)
"""Found for a partition that a response leaves out: to ask again would get the same."""

Outcome = Deliver | LeaderUnusable | OffsetReset


class FetchSession:
    """Hold the partitions that one fetcher reads from one broker.

    Attributes:
        has_hard_bounds: whether the broker has no limit for the whole response, and cuts every
            partition's part where its bytes end (before version 3 of Fetch). Else it fills its
            response in the order of the request, and gives the first entry whole.
    """

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self.has_hard_bounds = True
        self._positions: dict[TopicPartition, FetchPosition] = {}

    def __len__(self) -> int:
        return len(self._positions)

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """Add a partition; it replaces one that is here under an older claim.

        Args:
            claim: its claim.
            fetch_offset: where to go on; None: find its start by the reset policy.
            jumps: whether the stream must be told first that its position moves to this offset.
        """
        position = self._positions[claim.topic_partition] = FetchPosition(claim, fetch_offset)
        if jumps and fetch_offset is not None:
            position.pending = jump_to(claim, fetch_offset)

    def drop_inactive(self) -> None:
        """Remove partitions that were given up, with their chunks that waited for capacity."""
        gone = [tp for tp, position in self._positions.items() if not position.claim.active]
        for tp in gone:
            del self._positions[tp]

    def positions(self) -> list[FetchPosition]:
        """Return all positions, in the order of their turns (for ``delegation``)."""
        return list(self._positions.values())

    def release_all(self, reason: str) -> tuple[LeaderUnusable, ...]:
        """Give every partition back: the broker can't be reached, or this fetcher ends."""
        lost = tuple(
            _returned(position, reason)
            for position in self._positions.values()
            if not position.halted or position.pending is not None
        )
        self._positions.clear()
        return lost

    def pending(self) -> Iterator[Chunk]:
        """Iterate over the chunks that wait for capacity."""
        for position in self._positions.values():
            if position.pending is not None and position.claim.active:
                yield position.pending

    def hold(self, chunk: Chunk) -> None:
        """Keep a chunk that its queue did not take; its partition pauses meanwhile."""
        position = self._position_of(chunk.claim)
        if position is not None:
            position.pending = chunk

    def delivered(self, chunk: Chunk) -> None:
        """Record that the queue took the chunk."""
        position = self._position_of(chunk.claim)
        if position is None:
            return
        if position.pending is chunk:
            position.pending = None
        if position.halted and chunk.poison is not None:
            chunk.claim.halted = True

    def packed(self) -> list[PartitionClaim]:
        """Return the partitions with packed sets to unpack, in the order of their turns."""
        return [
            position.claim
            for position in self._positions.values()
            if position.packed is not None and position.pending is None and position.claim.active
        ]

    def unpack(self, claim: PartitionClaim, free_bytes: int) -> Chunk | None:
        """Unpack the next piece of a partition; see ``position.unpack``."""
        position = self._position_of(claim)
        if position is None or position.packed is None:
            return None
        self.end_turn(claim)
        return unpack(position, free_bytes, self._settings)

    def let_go(self) -> None:
        """Copy what waits to be unpacked, so that the response can be freed."""
        for position in self._positions.values():
            if position.packed is not None:
                position.packed = position.packed.kept()

    def offsets_request(self) -> ListOffsetsRequest | None:
        """Return the request for the start of partitions that have none, or None."""
        time = int(self._settings.reset)
        times = {tp: time for tp, position in self._positions.items() if position.needs_offset}
        return times_request(times) if times else None

    def ends_requests(self) -> tuple[ListOffsetsRequest, ListOffsetsRequest] | None:
        """Return the requests for both ends of logs said to lack an offset, or None."""
        doubtful = [tp for tp, position in self._positions.items() if position.is_doubtful]
        if not doubtful:
            return None
        return (
            times_request(dict.fromkeys(doubtful, int(EARLIEST))),
            times_request(dict.fromkeys(doubtful, int(LATEST))),
        )

    def fetch_request(
        self, has_capacity: Callable[[ChunkSink], bool] = lambda _sink: True
    ) -> FetchRequest | None:
        """Return the next fetch request, or None if nothing may be requested now.

        While a chunk waits for capacity the broker must not wait for data: the fetcher can't react
        to the stream during the request, and the stream may free capacity at any moment.

        Args:
            has_capacity: called for the queues of partitions whose next entry is larger than their
                part of a response: such an entry is not fetched only to wait here.
        """
        sizes, turns = self._sizes(has_capacity)
        entries: list[tuple[TopicPartition, FetchPartition]] = []
        is_waiting = False
        for tp, position in self._in_order(sizes):
            offset, max_bytes = position.fetch_offset, sizes.get(tp)
            if position.is_waiting or (position.ready and max_bytes is None):
                is_waiting = is_waiting or position.claim.active
            if offset is not None and max_bytes is not None:
                entry = FetchPartition(
                    partition=tp.partition, fetch_offset=offset, max_bytes=max_bytes
                )
                entries.append((tp, entry))
        if not entries:
            return None
        for tp in turns:
            self.end_turn(self._positions[tp].claim)
        max_wait_ms = 0 if is_waiting else self._settings.max_wait_ms
        return fetch_request(self._settings, entries, max_wait_ms=max_wait_ms)

    def _in_order(
        self, sizes: dict[TopicPartition, int]
    ) -> list[tuple[TopicPartition, FetchPosition]]:
        """Order a request; if the response follows that order, large entries come first.

        A partition that got nothing because the response was full stays in front: one that got data
        goes to the end of the line.
        """
        positions = list(self._positions.items())
        if not self.has_hard_bounds:
            positions.sort(key=lambda one: -sizes.get(one[0], 0))
        return positions

    def _sizes(
        self, has_capacity: Callable[[ChunkSink], bool]
    ) -> tuple[dict[TopicPartition, int], list[TopicPartition]]:
        """Return the size to request of each partition next, and those whose turn ends with that.

        Each partition here has an equal part, requested or not: waiting responses count against it.
        Entries that are larger than that share one half of the response, one for each queue, in
        turns; the first of them comes whatever its size.

        If something waits for a queue, no more is requested for it: its stream has work, and each
        chunk that it takes would cost a request for all of its partitions.
        """
        busy = {position.claim.sink for position in self._positions.values() if position.is_waiting}
        ready = {
            tp: one
            for tp, one in self._positions.items()
            if one.ready and one.claim.sink not in busy
        }
        shares = self.shares(ready)
        large = _large(ready, shares)
        wanted = {
            tp: Wanted(position.needed_bytes, position.grown_bytes)
            for tp, position in ready.items()
        }
        served: set[ChunkSink] = set()
        for tp, position in large.items():
            sink = position.claim.sink
            if sink in served or not has_capacity(sink):
                del wanted[tp]
            served.add(sink)
        sizes = share_out(wanted, shares)
        return sizes, [tp for tp in large if tp in sizes]

    def judge_offsets(self, position: FetchPosition) -> None:
        """Judge the offsets of a set that the native loop fetched (``delegation``)."""
        judge_offsets(position, self._settings)

    def large_sinks(self) -> set[ChunkSink]:
        """Return the queues of partitions whose next entry exceeds their part of a response."""
        ready = self._ready()
        return {ready[tp].claim.sink for tp in _large(ready, self.shares(ready))}

    def shares(self, ready: Mapping[TopicPartition, FetchPosition] | None = None) -> ResponseShares:
        """Return how the next response is shared out: all that are here have a part.

        Args:
            ready: the partitions to request; None: all that are ready.
        """
        ready = self._ready() if ready is None else ready
        needed_bytes = [position.needed_bytes for position in ready.values()]
        return shares_of(
            self._settings,
            self._settings.fetch_bytes,
            needed_bytes,
            len(self._positions),
            has_hard_bounds=self.has_hard_bounds,
        )

    def _ready(self) -> dict[TopicPartition, FetchPosition]:
        return {tp: position for tp, position in self._positions.items() if position.ready}

    def receive_offsets(self, response: ListOffsetsResponse) -> tuple[Outcome, ...]:
        """Set the start of the partitions that requested one."""
        found = read_times(response, version=0)
        outcomes: list[Outcome] = []
        for tp, position in list(self._positions.items()):
            if position.needs_offset and position.claim.active:
                outcomes.extend(self._take_offset(tp, position, found.get(tp, _LEFT_OUT)))
        return tuple(outcomes)

    def receive_ends(
        self, starts: ListOffsetsResponse, ends: ListOffsetsResponse
    ) -> tuple[Outcome, ...]:
        """Reset positions that are in no log; doubt a leader whose log has the offset."""
        start_of, end_of = read_times(starts, version=0), read_times(ends, version=0)
        outcomes: list[Outcome] = []
        for tp, position in list(self._positions.items()):
            if position.is_doubtful and position.claim.active:
                start, end = start_of.get(tp, _LEFT_OUT), end_of.get(tp, _LEFT_OUT)
                outcomes.extend(self._take_ends(tp, position, start, end))
        return tuple(outcomes)

    def receive_fetch(self, request: FetchRequest, response: FetchResponse) -> tuple[Outcome, ...]:
        """Take a response; keep its record sets to be unpacked."""
        requested, responses = requested_in(request), responses_of(response)
        outcomes: list[Outcome] = []
        for tp, fetched in responses.items():
            position, wanted = self._awaiting(tp, requested), requested.get(tp)
            if position is not None and wanted is not None:
                outcomes.extend(self._take_response(position, wanted, fetched))
        for tp in left_out(requested, responses, response.throttle_time_ms):
            position = self._awaiting(tp, requested)
            if position is not None:
                outcomes.append(self.take_absence(position))
        return tuple(outcomes)

    def _awaiting(
        self, tp: TopicPartition, requested: Mapping[TopicPartition, FetchPartition]
    ) -> FetchPosition | None:
        """Return a partition's position if a response to this request still counts for it."""
        position, wanted = self._positions.get(tp), requested.get(tp)
        if position is None or wanted is None or not (position.ready and position.claim.active):
            return None
        return position if position.fetch_offset == wanted.fetch_offset else None

    def _take_offset(
        self, tp: TopicPartition, position: FetchPosition, found: TimedOffset | int
    ) -> Iterator[Outcome]:
        if isinstance(found, int):
            yield self._lose_leader(tp, f"ListOffsets: {error_name(found)}")
        elif found.offset < 0:
            yield self._lose_leader(tp, "ListOffsets: no offset in the answer")
        else:
            chunk = start_at(position, found.offset)
            if chunk is not None:
                yield Deliver(chunk)

    def _take_ends(
        self,
        tp: TopicPartition,
        position: FetchPosition,
        start: TimedOffset | int,
        end: TimedOffset | int,
    ) -> Iterator[Outcome]:
        claim, offset = position.claim, position.fetch_offset
        assert offset is not None
        if isinstance(start, int) or isinstance(end, int):
            code = start if isinstance(start, int) else end
            assert isinstance(code, int)
            yield self._lose_leader(tp, f"ListOffsets: {error_name(code)}")
        elif not are_ends(start.offset, end.offset):
            yield self._lose_leader(tp, "ListOffsets: these are no ends of a log")
        elif is_outside(offset, start.offset, end.offset, claim.doubts):
            claim.doubts = 0
            yield OffsetReset(claim, offset)
            reset = start if self._settings.reset is LogEdge.EARLIEST else end
            yield from self._take_offset(tp, position, reset)
        else:
            claim.doubts += 1
            log_text = f"[{start.offset}, {end.offset}]"
            yield self._lose_leader(tp, f"it says that {offset} is out of its range {log_text}")

    def _take_response(
        self, position: FetchPosition, wanted: FetchPartition, fetched: FetchedPartition
    ) -> Iterator[Outcome]:
        if fetched.error_code != ErrorCode.NONE:
            outcome = self.take_error(position, fetched.error_code)
            if outcome is not None:
                yield outcome
        else:
            position.claim.doubts = 0
            position.claim.high_watermark = fetched.high_watermark
            is_behind = fetched.high_watermark > wanted.fetch_offset
            take_response(
                position,
                fetched.records,
                wanted.max_bytes,
                self._settings,
                is_passed_over=is_behind and not self.has_hard_bounds,
            )
            most_bytes = self._settings.grown_bytes
            position.grown_bytes = grown(wanted.max_bytes, len(fetched.records), most_bytes)

    def take_error(self, position: FetchPosition, code: int) -> Outcome | None:
        """Retry if that may help, maybe at another broker; else report the error to the stream.

        "Out of range" is only believed once the ends of the log are known.
        """
        error = ErrorCode.of(code)
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            position.is_doubtful = True
            return None
        if error.may_pass:
            tp = position.claim.topic_partition
            return self._lose_leader(tp, f"Fetch: {error_name(code)}")
        text = f"the broker refuses to serve it: {error_name(code)}: {error.text}"
        return Deliver(refused(position, text))

    def take_absence(self, position: FetchPosition) -> Outcome:
        """Give back a partition that a response leaves out: to ask again would get the same."""
        return self._lose_leader(position.claim.topic_partition, "Fetch: the answer leaves it out")

    def _lose_leader(self, tp: TopicPartition, reason: str) -> LeaderUnusable:
        return _returned(self._positions.pop(tp), reason)

    def end_turn(self, claim: PartitionClaim) -> None:
        """Put a partition at the end of the line."""
        tp = claim.topic_partition
        self._positions[tp] = self._positions.pop(tp)

    def _position_of(self, claim: PartitionClaim) -> FetchPosition | None:
        position = self._positions.get(claim.topic_partition)
        return position if position is not None and position.claim is claim else None


def _large(
    ready: Mapping[TopicPartition, FetchPosition], shares: ResponseShares
) -> dict[TopicPartition, FetchPosition]:
    """Return those whose next entry needs more than their part."""
    return {
        tp: position for tp, position in ready.items() if position.needed_bytes > shares.part_bytes
    }


def _returned(position: FetchPosition, reason: str) -> LeaderUnusable:
    """Give a position back, with a jump that waits for capacity."""
    claim, jumps = position.claim, position.pending is not None and position.pending.is_jump
    return LeaderUnusable(claim, position.resume_offset, reason, jumps=jumps)
