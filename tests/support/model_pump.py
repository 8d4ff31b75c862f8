"""A pump in Python, for poll engines in random worlds: it returns as the one in C may return.

It sends real requests over the world's connections, lets the world go on in between, and puts what
arrives into queues, piece by piece. It may return whenever C could, and in some places where C does
only after a stop: with sets of which a part is queued.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from tests.support.altered_messages import altered
from zkconsumer.clock import Clock
from zkconsumer.errors import ConnectionLost
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.delegated import DelegatedFetch, Returned
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.hedged_exchange import SecondResponse
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.pumped_connection import PumpedConnection, TakeBack
from zkconsumer.fetch.core.record_set import RecordSet, is_filled, readable_part
from zkconsumer.fetch.core.requests import entries_of, fetch_request, responses_of
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.net.hedging import Sent
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.records.slices import RowsPart
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.messages.fetch import (
    FIRST_SOFT_BOUNDS,
    LAST_BY_NAME,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
)

if TYPE_CHECKING:
    from tests.support.poll_network import ModelConnection
    from tests.support.poll_world import PollWorld
    from zkconsumer.native import _core

CHUNK_BYTES = 80
"""Charge of a chunk besides its records, as C has one."""


@dataclass(slots=True, eq=False)
class ModelClaim:
    """A ``delegated.SharedProgress``."""

    active: bool = True
    high_watermark: int = -1
    log_start: int = -1


class ModelPart(RowsPart):
    """The records of one chunk, which may be a part of a decoded set."""

    __slots__ = ("_charge",)

    def __init__(self, decoded: DecodedSet, start: int, stop: int, charge: int) -> None:
        super().__init__(decoded, start, stop)
        self._charge = charge

    @property
    def memory_bytes(self) -> int:
        """The memory of the chunk."""
        return self._charge


class ModelChunk(NamedTuple):
    """A chunk in a queue: what ``take_chunk`` returns, and its claim."""

    fetch_offset: int
    next_offset: int
    leader_epoch: int
    size_bytes: int
    records: ModelPart
    claim: ModelClaim


class ModelQueue:
    """A ``delegated.ChunkSource`` with the rules of the queue in C.

    Args:
        share_bytes: its capacity.
        on_change: called after the next put, once a chunk is awaited.
        on_taken: called when a chunk was taken; may raise, as a signal handler may then.
    """

    def __init__(
        self,
        share_bytes: int,
        on_change: Callable[[], None],
        on_taken: Callable[[], None] = lambda: None,
    ) -> None:
        self.share_bytes = share_bytes
        self._on_change = on_change
        self._on_taken = on_taken
        self._chunks: deque[ModelChunk] = deque()
        self._pending_bytes = 0
        self._is_awaited = False

    @property
    def used_bytes(self) -> int:
        """Memory of its chunks, and of the one that was taken last."""
        return self._pending_bytes + sum(chunk.size_bytes for chunk in self._chunks)

    @property
    def queued_bytes(self) -> int:
        """See ``ChunkSource``."""
        return self.used_bytes - self._pending_bytes

    @property
    def record_count(self) -> int:
        """See ``ChunkSource``."""
        return sum(len(chunk.records) for chunk in self._chunks if chunk.claim.active)

    def put(self, chunk: ModelChunk) -> bool:
        """Put a chunk; return False if it does not fit. That of an inactive claim is dropped."""
        if not chunk.claim.active:
            return True
        used_bytes = self.used_bytes
        if used_bytes and used_bytes + chunk.size_bytes > self.share_bytes:
            return False
        self._chunks.append(chunk)
        is_awaited, self._is_awaited = self._is_awaited, False
        if is_awaited:
            self._on_change()
        return True

    def take_chunk(self) -> "tuple[int, int, int, int, _core.Fetched] | None":
        """See ``ChunkSource``."""
        while self._chunks and not self.counts(self._chunks[0].claim):
            self._chunks.popleft()
        if not self._chunks:
            self._pending_bytes = 0
            return None
        chunk = self._chunks.popleft()
        self._pending_bytes = chunk.size_bytes
        self._on_taken()
        return (*chunk[:4], cast("_core.Fetched", chunk.records))

    def await_chunk(self) -> bool:
        """See ``ChunkSource``."""
        is_there = any(chunk.claim.active for chunk in self._chunks)
        self._is_awaited = not is_there
        return is_there

    @staticmethod
    def counts(claim: ModelClaim) -> bool:
        """Whether chunks of a claim are handed over."""
        return claim.active


@dataclass(slots=True, eq=False)
class _ArrivedSet:
    """A set that has arrived, and how much of it is queued.

    Attributes:
        data: its bytes.
        offset: the requested offset.
        requested_bytes: the requested size.
        at_byte: the end of the entries all of whose records are queued.
        reading: the entries from ``at_byte`` on that are being queued; None: none are.
        queued: how many records of these are queued.
    """

    data: bytes
    offset: int
    requested_bytes: int
    at_byte: int = 0
    reading: DecodedSet | None = None
    queued: int = 0


@dataclass(slots=True, eq=False)
class _Slot:
    """The state of one partition, as ``csrc/slots.h`` has it."""

    requested: PartitionRequest
    claim: ModelClaim
    queue: ModelQueue
    back: Returned
    sets: deque[_ArrivedSet]

    @property
    def is_active(self) -> bool:
        return self.claim.active and not self.must_return

    @property
    def must_return(self) -> bool:
        """Whether Python has to continue."""
        back = self.back
        return bool(back.error_code) or back.is_left_out or back.is_unsupported

    def note(self, **changes: object) -> None:
        self.back = self.back._replace(**changes)  # type: ignore[arg-type]

    def returned(self) -> Returned:
        """Return the slot as ``_core.Pump.unload`` does: of two sets it has the first one."""
        if not self.sets:
            return self.back
        first = self.sets[0]
        packed = (
            memoryview(first.data),
            first.offset,
            first.requested_bytes,
            first.at_byte,
            0,
            True,
        )
        return self.back._replace(packed=packed)


class ModelPumped:
    """A ``pumped_connection.Pumped`` for one connection of a world."""

    def __init__(
        self, world: "PollWorld", line: FetchConnection, limits: CoreFetchSettings
    ) -> None:
        self._world = world
        self._chance = world.chance
        self._line = line
        self._settings = limits
        self._is_called = self._is_stopped = False
        self._slots: list[_Slot] = []
        self._turns = self._part_bytes = 0

    def call(self) -> None:
        """See ``Pumped``."""
        self._is_called = True

    def clear_call(self) -> None:
        """See ``Pumped``."""
        self._is_called = False

    def stop(self) -> None:
        """See ``Pumped``."""
        self._is_stopped = True

    def close(self) -> None:
        """See ``Pumped``."""

    def fetch(
        self,
        connection: NegotiatedConnection,
        version: int,
        delegation: BrokerDelegation,
        take_back: TakeBack,
    ) -> "SecondResponse | None":
        """See ``Pumped``."""
        self._world.delegations += 1
        if self._chance.random() < self._world.trouble / 8:
            connection.close()
            raise ConnectionLost("model: closed before the pump had it")
        self._slots = [
            _Slot(fetch.requested, *_shared(fetch), back, deque())
            for fetch, back in zip(delegation.fetches, delegation.untouched(), strict=True)
        ]
        self._turns, self._part_bytes = 0, delegation.part_bytes
        second: SecondResponse | None = None
        try:
            second = self._run(connection, version, delegation)
        finally:
            take_back(slot.returned() for slot in self._slots)
        return second

    def _run(
        self, connection: NegotiatedConnection, version: int, delegation: BrokerDelegation
    ) -> "SecondResponse | None":
        early: dict[TopicPartition, PartitionRequest] = {}
        while True:
            self._meanwhile()
            if not early and self._must_return():
                return None
            wanted = early or self._wanted(delegation)
            if not wanted:
                if not self._unpack() and not self._has_capacity():
                    return None
                continue
            request = self._request(wanted, version)
            second, response = self._respond(connection, request, version)
            if second is not None:
                return second
            if response is None:
                return None  # stopped, whatever is in flight
            self._take(wanted, response, version, delegation)
            early = self._early(delegation)
            self._unpack(some=True)

    def _meanwhile(self) -> None:
        """Let events happen: many, since a run of C is long."""
        for _ in range(self._chance.randrange(1, 5)):
            self._world.meanwhile()

    def _must_return(self) -> bool:
        is_any_behind = any(slot.back.is_behind and slot.claim.active for slot in self._slots)
        is_due = self._is_called or self._is_stopped or self._chance.random() < 0.05
        return is_due or not is_any_behind or any(slot.must_return for slot in self._slots)

    def _has_capacity(self) -> bool:
        """Wait until the caller takes chunks out of full queues; False: it returns instead."""
        is_waiting = any(slot.sets and slot.is_active for slot in self._slots)
        return is_waiting and self._world.takes_queued()

    def _in_turn(self) -> list[_Slot]:
        first = self._chance.randrange(len(self._slots))
        return self._slots[first:] + self._slots[:first]

    def _wanted(self, delegation: BrokerDelegation) -> dict[TopicPartition, PartitionRequest]:
        """Return what the next request is about: all without a set."""
        return {
            slot.requested.topic_partition: _at(slot, slot.back.fetch_offset, delegation)
            for slot in self._in_turn()
            if slot.is_active and not slot.sets
        }

    def _early(self, delegation: BrokerDelegation) -> dict[TopicPartition, PartitionRequest]:
        """Return what an early request is about: what follows the sets; often there is none."""
        if not any(slot.sets for slot in self._slots) or self._chance.random() < 0.5:
            return {}
        return {
            slot.requested.topic_partition: _at(slot, self._end_of(slot), delegation)
            for slot in self._in_turn()
            if slot.is_active
        }

    def _end_of(self, slot: _Slot) -> int:
        if not slot.sets:
            return slot.back.fetch_offset
        return self._decoded(slot.sets[0].data, slot.sets[0].offset).next_offset

    def _request(
        self, wanted: dict[TopicPartition, PartitionRequest], version: int
    ) -> FetchRequest:
        ids: dict[str, bytes] = {}
        if version > LAST_BY_NAME:
            ids = {tp.topic: one.topic_id for tp, one in wanted.items() if one.topic_id}
            assert ids.keys() == {tp.topic for tp in wanted}
        step = without_session(wanted, ids)
        waits_ms = 0 if any(slot.sets for slot in self._slots) else self._settings.max_wait_ms
        return fetch_request(self._settings, entries_of(step), max_wait_ms=waits_ms, step=step)

    def _respond(
        self, connection: NegotiatedConnection, request: FetchRequest, version: int
    ) -> "tuple[SecondResponse | None, FetchResponse | None]":
        """Exchange a request; hedge it if the broker is silent, which calls this and later runs."""

        def again() -> FetchRequest:
            self._is_called = True
            return request

        exchange, clock = self._line.exchange, self._world.clock
        sent_ms = clock.now_ms()
        sent = exchange.send(connection, request, self._settings.request_timeout_ms, version)
        any(self._have_turns())
        if self._is_stopped:
            # The pump's requests are in flight in C alone: nobody else sees that.
            cast("ModelConnection", connection).forget_request()
            return None, None
        second: Sent[FetchResponse] | None = exchange.respond(
            sent, again, waits_ms=self._settings.max_wait_ms, at_most=version
        )
        if second is None:
            return None, sent.response()
        self._world.second_responses += 1
        return SecondResponse(request, second.response(), clock.now_ms() - sent_ms), None

    def _take(
        self,
        wanted: dict[TopicPartition, PartitionRequest],
        response: FetchResponse,
        version: int,
        delegation: BrokerDelegation,
    ) -> None:
        self._line.on_response()
        self._world.pumped_responses += 1
        by_id = {one.topic_id: tp.topic for tp, one in wanted.items() if one.topic_id}
        if version > LAST_BY_NAME:
            named = tuple(altered(topic, topic=by_id[topic.topic_id]) for topic in response.topics)
            response = altered(response, topics=named)
        responses = responses_of(response)
        if self._chance.random() < self._world.trouble / 4:
            responses.pop(self._chance.choice([*wanted]), None)
        for slot in self._slots:
            tp = slot.requested.topic_partition
            if tp in wanted and slot.is_active:
                self._take_part(slot, wanted[tp], responses.get(tp), delegation, version)

    def _take_part(
        self,
        slot: _Slot,
        wanted: PartitionRequest,
        part: FetchedPartition | None,
        delegation: BrokerDelegation,
        version: int,
    ) -> None:
        is_free = not slot.sets and wanted.start.offset == slot.back.fetch_offset
        if not is_free and not (len(slot.sets) == 1 and part is not None and part.records):
            return
        if part is None:
            slot.note(is_left_out=True)
        elif part.error_code:
            slot.note(error_code=part.error_code if is_free else 0)
        else:
            self._take_set(slot, wanted, part, delegation, version)

    def _take_set(
        self,
        slot: _Slot,
        wanted: PartitionRequest,
        part: FetchedPartition,
        delegation: BrokerDelegation,
        version: int,
    ) -> None:
        slot.claim.high_watermark = part.high_watermark
        size = len(part.records)
        is_behind = is_filled(wanted.max_bytes, size)
        if not size:
            is_behind = version >= FIRST_SOFT_BOUNDS and (part.high_watermark > wanted.start.offset)
            if not is_behind:
                slot.note(needed_bytes=0)
        grown_bytes = 0
        if size and is_behind:
            grown_bytes = min(
                2 * wanted.max_bytes, slot.queue.share_bytes // 4, delegation.grown_bytes
            )
        arrived = _ArrivedSet(bytes(part.records), wanted.start.offset, wanted.max_bytes)
        slot.claim.log_start = part.log_start_offset
        is_in_order = not size or self._is_in_order(arrived, part.high_watermark)
        if slot.sets and not is_in_order:
            return  # it is requested again in its turn
        slot.note(is_behind=is_behind, grown_bytes=grown_bytes, is_unsupported=not is_in_order)
        if size:
            slot.sets.append(arrived)

    def _is_in_order(self, arrived: _ArrivedSet, high_watermark: int) -> bool:
        found = readable_part(
            RecordSet(memoryview(arrived.data), arrived.offset, arrived.requested_bytes),
            high_watermark=high_watermark,
            is_again=False,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
        )
        return found is not None and found.misplaced is None

    # --- Unpacking -----------------------------------------------------------------------------

    def _unpack(self, *, some: bool = False) -> bool:
        """Queue all that fits, or some of it; return whether anything was queued."""
        moved = False
        while any(self._have_turns()):
            moved = True
            self._meanwhile()
            if some and self._chance.random() < 0.3:
                break
        return moved

    def _have_turns(self) -> Iterator[bool]:
        """Give slots with a set a turn; yield whether it queued anything."""
        for slot in self._in_turn():
            if slot.sets and not slot.claim.active:
                slot.sets.clear()
            elif slot.sets and slot.is_active:
                yield self._have_turn(slot)

    def _have_turn(self, slot: _Slot) -> bool:
        """Queue a chunk of a set; return whether anything moved."""
        self._turns += 1
        slot.note(turn=self._turns)
        one = slot.sets[0]
        if one.reading is None:
            one.reading, one.queued = self._read(one, slot.back.fetch_offset), 0
        reading = one.reading
        if not _is_queued(slot, one, reading) and not self._put(slot, one, reading):
            return False
        if _is_queued(slot, one, reading):
            self._end_reading(slot, one, reading)
        return True

    def _put(self, slot: _Slot, one: _ArrivedSet, reading: DecodedSet) -> bool:
        """Put a chunk of some records, with what follows the last of all."""
        count, start = len(reading.records), one.queued
        stop = count
        if count - start > 1 and self._chance.random() < 0.6:
            stop = self._chance.randrange(start + 1, count + 1)
        next_offset, epoch = reading.next_offset, epoch_after(reading)
        if stop < count:
            next_offset = reading.records.plain[stop - 1][0] + 1
            epoch = reading.leader_epoch(stop - 1)
        part = ModelPart(reading, start, stop, CHUNK_BYTES)
        part = ModelPart(reading, start, stop, CHUNK_BYTES + part.size_bytes)
        chunk = ModelChunk(
            slot.back.fetch_offset, next_offset, epoch, part.memory_bytes, part, slot.claim
        )
        if not slot.queue.put(chunk):
            return False
        self._world.pumped_chunks += 1
        one.queued = stop
        slot.note(fetch_offset=next_offset)
        return True

    def _end_reading(self, slot: _Slot, one: _ArrivedSet, reading: DecodedSet) -> None:
        """Move after the entries that were read; end the set after the last whole one."""
        one.at_byte += reading.valid_bytes
        one.reading = None
        rest = one.data[one.at_byte :]
        left = self._decoded(rest, slot.back.fetch_offset)
        if left.valid_bytes:
            return
        if left.error is not None or slot.back.fetch_offset == one.offset:
            slot.note(is_unsupported=True)
            return
        needed_bytes = left.first_entry_size_bytes or 0
        if needed_bytes > self._settings.growth_max_bytes:
            needed_bytes = 0
        slot.note(needed_bytes=needed_bytes)
        slot.sets.popleft()
        if slot.sets and slot.sets[0].offset != slot.back.fetch_offset:
            slot.sets.clear()  # an early set that does not follow
        if not slot.sets and needed_bytes > self._part_bytes:
            self._is_called = True  # a part of a response is too small

    def _read(self, one: _ArrivedSet, offset: int) -> DecodedSet:
        """Decode some of the whole entries, but none that C leaves to Python."""
        data = one.data[one.at_byte :]
        decoded = self._decoded(data, offset, some=True)
        if decoded.error is not None:
            decoded = self._decoded(data[: decoded.valid_bytes], offset)
        return decoded

    def _decoded(self, data: bytes, offset: int, *, some: bool = False) -> DecodedSet:
        return decode_record_set(
            data,
            fetch_offset=offset,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
            enough_bytes=self._chance.choice((1, 400, 1 << 20)) if some else None,
        )


def model_pump(
    world: "PollWorld",
    line: FetchConnection,
    shared: SharedFetchState,
    settings: CoreFetchSettings,
    clock: Clock,
    wake: Callable[[], None],
) -> PumpedConnection:
    """Make the pump of a connection, as ``pump_maker.MakePump`` does."""
    del clock

    def make(requested: PartitionRequest, queue_bytes: int) -> DelegatedFetch:
        return DelegatedFetch(
            requested, ModelClaim(), ModelQueue(queue_bytes, wake, world.on_taken)
        )

    pumped = ModelPumped(world, line, settings)
    return PumpedConnection(line, shared, lambda: pumped, make)


def _is_queued(slot: _Slot, one: _ArrivedSet, reading: DecodedSet) -> bool:
    is_behind_all = slot.back.fetch_offset >= reading.next_offset
    return is_behind_all and one.queued == len(reading.records)


def epoch_after(decoded: DecodedSet) -> int:
    """Return the leader epoch that belongs to the offset after a set."""
    return decoded.last_leader_epoch


def _shared(fetch: DelegatedFetch) -> tuple[ModelClaim, ModelQueue]:
    claim, queue = fetch.claim, fetch.queue
    assert isinstance(claim, ModelClaim)
    assert isinstance(queue, ModelQueue)
    return claim, queue


def _at(slot: _Slot, offset: int, delegation: BrokerDelegation) -> PartitionRequest:
    """Request the records from an offset on; the epoch before it is not sent."""
    told = slot.requested
    return PartitionRequest(
        told.topic_partition,
        PositionView(offset, NO_EPOCH),
        max(delegation.part_bytes, slot.back.grown_bytes),
        told.leader_epoch,
        told.broker,
        topic_id=told.topic_id,
    )
