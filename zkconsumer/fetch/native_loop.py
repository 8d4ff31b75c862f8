"""The native fetch loop: ``PythonFetchLoop``, with a pump in C for its steady state.

Supported partitions are delegated to the pump (``delegation``), which works without the GIL
until something is unsupported or the loop is called; then Python takes all of them back, and runs
the inherited code. So a fetch loop's behaviour is defined once, and the pump does most of the work.
See ``native/csrc/pump.h`` for the pump's side, and docs/decisions/0012.
"""

import logging
import os
from typing import NamedTuple, Protocol, cast

from zkconsumer.errors import (
    ConnectionLost,
    DecodeError,
    ProtocolError,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.core.hedged_exchange import throttle_pause_ms
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.requests import requested_in
from zkconsumer.fetch.delegation import Delegation, NativeDelegate, Returned
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.stream_partition import StreamPartition
from zkconsumer.native import _core
from zkconsumer.net.hedging import Sent
from zkconsumer.net.in_flight import RawStream, Received
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.observe import Fetched
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_request
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.fetch import FetchRequest, FetchResponse

log = logging.getLogger(__name__)

_REPORT_MS = 1_000
"""Maximum interval between reports to observers, ms; each may cover several responses."""
_MOST_BYTES = 1 << 62


class _End(NamedTuple):
    """Why the pump returned; see ``_core.Pump.run``."""

    kind: int
    correlation_id: int
    is_for_us: bool
    failure: int
    error: int
    detail: str
    has_received: bool


class _DelegatedRequest:
    """The pump's request in flight, as a ``PendingRequest``; the pump returns on its response.

    Attributes:
        end: how the pump returned, once the response is complete or failed.
    """

    def __init__(
        self, loop: "NativeFetchLoop", connection: NegotiatedConnection, line: RawStream
    ) -> None:
        self.end: _End | None = None
        self._loop = loop
        self._connection = connection
        self._line = line

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        end = self._loop.run_silently(self._line, timeout_ms)
        if end.kind == _core.PUMP_SILENT:
            return Received.PART if end.has_received else Received.NOTHING
        self.end = end
        if end.kind == _core.PUMP_BROKEN:
            raise self._loop.failure_of(end)
        return Received.ALL

    def close(self) -> None:
        """See ``PendingRequest``."""
        self._connection.close()


_Second = Sent[FetchResponse]


class _NativeSink(ChunkSink, Protocol):
    """A queue that C can fill."""

    native: _core.Queue


def _can_fill(sink: ChunkSink) -> bool:
    return hasattr(sink, "native")


class NativeFetchLoop(PythonFetchLoop):
    """Fetch from one broker without the GIL, if the connection has a descriptor."""

    def _set_up(self) -> None:
        settings = self._settings
        self._delegate = NativeDelegate(self._partitions, _can_fill)
        self._is_whole_turn = True
        self._pump = _core.Pump()
        self._pump.configure(
            min_bytes=settings.min_bytes,
            max_bytes=min(settings.max_bytes, (1 << 31) - 1),
            max_wait_ms=settings.max_wait_ms,
            timeout_ms=settings.request_timeout_ms + settings.max_wait_ms,
            max_decompressed_bytes=min(settings.max_decompressed_bytes, _MOST_BYTES),
            growth_max_bytes=min(settings.growth_max_bytes, _MOST_BYTES),
            report_ms=_REPORT_MS if self._observation.has_observers else 0,
        )

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """See ``PythonFetchLoop``."""
        super().add(claim, fetch_offset, jumps=jumps)
        self._pump.call()

    def wake(self) -> None:
        """See ``PythonFetchLoop``."""
        super().wake()
        self._pump.call()

    def stop(self) -> None:
        """See ``PythonFetchLoop``."""
        super().stop()
        self._pump.stop()

    def run(self) -> None:
        """See ``PythonFetchLoop``. Afterwards the loop holds no file descriptor."""
        try:
            super().run()
        finally:
            self._pump.close()

    def _may_send_early(self, connection: NegotiatedConnection) -> bool:
        # A connection is delegated to the pump only without a request in flight; the pump sends its
        # own early requests.
        return not connection.has_descriptor and super()._may_send_early(connection)

    def _turn(self) -> None:
        # Before the mailbox is read: callers put their command there before they call the pump.
        self._pump.clear_call()
        exchange = self._line.exchange
        connection = exchange.connection
        can_delegate = connection is None or connection.has_descriptor
        if not can_delegate or exchange.pause_left_ms() > 0:
            super()._turn()
            return
        self._is_whole_turn = False
        can_fetch = self._prepare()
        self._is_whole_turn = True
        self._delegate.forget_unpacked()
        if can_fetch:
            delegation = None if self._has_failed else self._delegated()
            if delegation is None:
                self._unpack()
                self._fetch_once()
            else:
                self._run_pump(delegation)

    def _to_unpack(self) -> list[PartitionClaim]:
        if self._is_whole_turn:
            return super()._to_unpack()
        return self._delegate.keeps(has_hard_bounds=self._line.exchange.has_hard_bounds)

    def _delegated(self) -> Delegation | None:
        return self._delegate.delegate(
            lambda sink: sink.free_bytes(self.wake) > 0,
            has_hard_bounds=self._line.exchange.has_hard_bounds,
        )

    def _run_pump(self, delegation: Delegation) -> None:
        exchange = self._line.exchange
        had_hard_bounds = exchange.has_hard_bounds
        try:
            connection = exchange.connection or exchange.open()
            # The broker's versions may change what to request.
            if connection.has_descriptor and had_hard_bounds == exchange.has_hard_bounds:
                self._pump_over(connection, delegation)
        except ZkConsumerError as error:
            self._on_failure(error)

    def _pump_over(self, connection: NegotiatedConnection, delegation: Delegation) -> None:
        """Run the pump on a delegation until it must return, and take the partitions back."""
        with connection.delegate() as line:
            self._load(delegation)
            second: _Second | None = None
            sent_ms = 0
            try:
                end = self._run_until_called(line)
                if end.kind == _core.PUMP_SILENT:
                    sent_ms = self._clock.now_ms() - self._quiet_ms
                    end, second = self._run_hedged(connection, line, end)
            finally:
                returned = map(Returned._make, self._pump.unload())
                self._shared.change(
                    lambda _, now_ms: self._delegate.take_back(delegation, returned, now_ms)
                )
                self._line.exchange.pause(self._pump.quiet_ms())
            self._settle()
            if second is None and end.kind == _core.PUMP_BROKEN:
                raise self.failure_of(end)
        if second is not None:
            request = second.in_flight.request
            assert isinstance(request, FetchRequest)
            response = second.response()
            step = without_session(self._partitions.requests_of(requested_in(request)), {})
            self._line.take(step, response, self._clock.now_ms() - sent_ms)
            self._after_exchange()

    @property
    def _quiet_ms(self) -> int:
        return self._line.exchange.pace.hedge_delay_ms + self._settings.max_wait_ms

    def _run_until_called(self, line: RawStream) -> "_End":
        """Run the pump until it is called; in between it returns only to report to observers."""
        while True:
            end = self._run(line, self._quiet_ms)
            if end.kind != _core.PUMP_CALLED:
                return end
            self._line.exchange.pace.on_response()
            if end.is_for_us:
                return end

    def _run(self, line: RawStream, quiet_ms: int) -> "_End":
        end = _End(
            *self._pump.run(
                line.descriptor,
                version=self._line.exchange.fetch_version,
                correlation_id=line.correlation_id,
                client_id=line.client_id,
                max_response_bytes=line.max_response_bytes,
                max_entry_bytes=line.max_entry_bytes,
                quiet_ms=quiet_ms,
            )
        )
        line.correlation_id = end.correlation_id
        self._report_counts()
        return end

    def run_silently(self, line: RawStream, quiet_ms: int) -> "_End":
        """Have the pump wait for the response under way, and return after it. Thread: its own."""
        self._pump.call()
        return self._run(line, quiet_ms)

    def _run_hedged(
        self, connection: NegotiatedConnection, line: RawStream, end: "_End"
    ) -> "tuple[_End, _Second | None]":
        """Hedge the pump's request; return how the pump ended, or the second request's response."""

        def again() -> FetchRequest:
            frame = self._pump.last_request()[LENGTH_BYTES:]
            return cast("FetchRequest", decode_request(frame, {ApiKey.FETCH: FetchRequest}).request)

        delegated = _DelegatedRequest(self, connection, line)
        second = self._line.exchange.respond(
            delegated, again, waits_ms=self._settings.max_wait_ms, is_silent=True
        )
        return delegated.end or end, second

    def _report_counts(self) -> None:
        fetches, partitions, size_bytes, records, duration_ms, throttle_ms = self._pump.counts()
        throttle_pause_ms(self._broker, throttle_ms, self._repeats)
        if fetches or records:
            self._observation.report(
                Fetched(
                    broker_id=self._broker.id,
                    partitions=partitions,
                    size_bytes=size_bytes,
                    records=records,
                    duration_ms=duration_ms,
                    fetches=fetches,
                )
            )

    def failure_of(self, end: "_End") -> TransportError | ProtocolError:
        """Return the error that ended the connection in the pump."""
        broker = self._broker
        if end.failure == _core.IO_NONSENSE:
            return DecodeError("FetchResponse", end.detail, 0, "malformed")
        if end.failure == _core.IO_TIMED_OUT:
            return RequestTimedOut(f"{broker}: no response in time")
        if end.failure == _core.IO_CLOSED:
            return ConnectionLost(f"{broker}: closed the connection")
        return ConnectionLost(f"{broker}: {os.strerror(end.error)}")

    def _load(self, delegation: Delegation) -> None:
        places: dict[ChunkSink, int] = {}
        queues: list[_core.Queue] = []
        topics: dict[str, list[tuple[object, ...]]] = {}
        for part in delegation.parts:
            claim = part.claim
            sink = cast("_NativeSink", claim.sink)
            if sink not in places:
                places[sink] = len(queues)
                queues.append(sink.native)
            sink.native.adopt(claim)
            topic = claim.topic_partition.topic
            topics.setdefault(topic, []).append(_slot(part, places[sink]))
        self._pump.load(
            queues,
            [(topic.encode(), slots) for topic, slots in topics.items()],
            part_bytes=delegation.part_bytes,
            grown_bytes=delegation.grown_bytes,
            others_wait=delegation.others_wait,
        )


def _slot(part: StreamPartition, queue_index: int) -> tuple[object, ...]:
    """Convert a partition to the pump's arguments."""
    state = part.state
    packed = None if state.packed is None else state.packed.records
    return (
        queue_index,
        part.claim.topic_partition.partition,
        part.claim,
        part.offset,
        state.needed_bytes,
        state.grown_bytes,
        packed and (packed.data, packed.at_byte, packed.fetch_offset, packed.requested_bytes),
    )
