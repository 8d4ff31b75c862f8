"""Exchange fetch requests in C, over the connection of a ``HedgedExchange``; for all readers.

The pump fetches what it is loaded with, without the GIL, until something is unsupported or it is
called. See ``native/csrc/pump.h`` for its side, and docs/decisions/0012. Only where the core is
native.
"""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple, cast

from zkconsumer.clock import Clock
from zkconsumer.errors import (
    ConnectionLost,
    DecodeError,
    ProtocolError,
    RequestTimedOut,
    TransportError,
)
from zkconsumer.fetch.core.delegated import PumpCounts, Returned, each_response
from zkconsumer.fetch.core.hedged_exchange import (
    HedgedExchange,
    SecondResponse,
    throttle_pause_ms,
)
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.model import Broker
from zkconsumer.native import _core
from zkconsumer.net.hedging import Sent
from zkconsumer.net.in_flight import RawStream, Received
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.repeats import Repeats
from zkconsumer.wire.absent import NO_EPOCH, NO_OFFSET
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_request
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.fetch import FetchRequest, FetchResponse

REPORT_MS = 1_000
"""Maximum interval between reports, ms; each may cover several responses."""
_MOST_BYTES = 1 << 62
_MOST_OFFSET = (1 << 63) - 1

Slot = tuple[int, int, _core.Progress, int, int, int, tuple[object, ...] | None, int, bool, int]
"""Arguments of one partition, see ``_core.Pump.load``."""


def slot_of(
    state: PartitionState,
    queue_index: int,
    claim: _core.Progress,
    offset: int,
    leader_epoch: int = NO_EPOCH,
) -> Slot:
    """Convert a partition to the pump's arguments.

    Args:
        state: its state.
        queue_index: the index of its queue.
        claim: what is shared with the pump.
        offset: where to fetch.
        leader_epoch: the leader's epoch to send; -1: none.
    """
    packed = None if state.packed is None else state.packed.records
    return (
        queue_index,
        state.topic_partition.partition,
        claim,
        offset,
        state.needed_bytes,
        state.grown_bytes,
        None
        if packed is None
        else (packed.data, packed.at_byte, packed.fetch_offset, packed.requested_bytes),
        leader_epoch,
        state.is_behind,
        NO_OFFSET if state.until_offset is None else min(state.until_offset, _MOST_OFFSET),
    )


class PumpLoad(NamedTuple):
    """Hold what a pump is to fetch, as the arguments of ``_core.Pump.load``.

    Attributes:
        queues: the queues to fill.
        topics: the name of each topic, or its id, and its partitions.
        part_bytes: size to request of each partition.
        grown_bytes: the largest size for a partition that is far behind.
        others_wait: whether others wait for capacity, so that the broker must not wait for data.
        ends_at_head: whether to return once no partition is far behind.
    """

    queues: list[_core.Queue]
    topics: list[tuple[bytes, list[Slot]]]
    part_bytes: int
    grown_bytes: int
    others_wait: bool = False
    ends_at_head: bool = False


class PumpEnd(NamedTuple):
    """Why the pump returned; see ``_core.Pump.run``."""

    kind: int
    correlation_id: int
    is_for_us: bool
    failure: int
    error: int
    detail: str
    has_received: bool


class PumpedExchange:
    """Exchange requests with one broker in C. Thread: its fetcher's, but for ``call`` and ``stop``.

    Args:
        exchange: the exchange whose connection is delegated.
        settings: fetch settings.
        broker: the broker.
        clock: for time-outs.
        repeats: warns of long pauses for a quota.
        report: receives counts; None: nobody does.
    """

    def __init__(
        self,
        exchange: HedgedExchange,
        settings: CoreFetchSettings,
        broker: Broker,
        *,
        clock: Clock,
        repeats: Repeats,
        report: Callable[[PumpCounts], None] | None,
    ) -> None:
        self._exchange = exchange
        self._max_wait_ms = settings.max_wait_ms
        self._broker = broker
        self._clock = clock
        self._repeats = repeats
        self._report = report
        self._version = 0
        self._pump = _core.Pump()
        self._pump.configure(
            min_bytes=settings.min_bytes,
            max_bytes=min(settings.max_bytes, (1 << 31) - 1),
            max_wait_ms=settings.max_wait_ms,
            timeout_ms=settings.request_timeout_ms + settings.max_wait_ms,
            max_decompressed_bytes=min(settings.max_decompressed_bytes, _MOST_BYTES),
            growth_max_bytes=min(settings.growth_max_bytes, _MOST_BYTES),
            report_ms=0 if report is None else REPORT_MS,
        )

    def call(self) -> None:
        """Have the present or next run return soon. Thread: any."""
        self._pump.call()

    def clear_call(self) -> None:
        """Forget former calls; do so before reading the state that they were about."""
        self._pump.clear_call()

    def stop(self) -> None:
        """Have the present and all later runs return at once. Thread: any."""
        self._pump.stop()

    def close(self) -> None:
        """Free the pump, and its file descriptor."""
        self._pump.close()

    def run(
        self,
        connection: NegotiatedConnection,
        version: int,
        load: PumpLoad,
        take_back: Callable[[Iterable[Returned]], None],
    ) -> SecondResponse | None:
        """Fetch until the pump has to return, and take the partitions back.

        Args:
            connection: the connection of the exchange, with a descriptor and nothing in flight.
            version: the version of Fetch.
            load: what to fetch.
            take_back: receives the state of each partition, however the run ends.

        Returns:
            The response to a hedged request, if that came first; else None.

        Raises:
            TransportError: the connection failed.
            ProtocolError: likewise.
        """
        self._version = version
        second: Sent[FetchResponse] | None = None
        sent_ms = 0
        with connection.delegate() as line:
            self._pump.load(**load._asdict())
            try:
                end = self._run_until_called(line)
                if end.kind == _core.PUMP_SILENT:
                    sent_ms = self._clock.now_ms() - self._quiet_ms
                    end, second = self._run_hedged(connection, line, end)
            finally:
                take_back(map(Returned._make, self._pump.unload()))
                self._exchange.pause(self._pump.quiet_ms())
            if second is None and end.kind == _core.PUMP_BROKEN:
                raise self.failure_of(end)
        if second is None:
            return None
        request = second.in_flight.request
        assert isinstance(request, FetchRequest)
        response = second.response()
        return SecondResponse(request, response, self._clock.now_ms() - sent_ms)

    @property
    def _quiet_ms(self) -> int:
        return self._exchange.pace.hedge_delay_ms + self._max_wait_ms

    def _run_until_called(self, line: RawStream) -> PumpEnd:
        """Run the pump until it is called; in between it returns only to report."""
        while True:
            end = self._run(line, self._quiet_ms)
            if end.kind != _core.PUMP_CALLED:
                return end
            self._exchange.pace.on_response()
            if end.is_for_us:
                return end

    def _run(self, line: RawStream, quiet_ms: int) -> PumpEnd:
        end = PumpEnd(
            *self._pump.run(
                line.descriptor,
                version=self._version,
                correlation_id=line.correlation_id,
                client_id=line.client_id,
                max_response_bytes=line.max_response_bytes,
                max_entry_bytes=line.max_entry_bytes,
                quiet_ms=quiet_ms,
            )
        )
        line.correlation_id = end.correlation_id
        self._report_counts(line)
        return end

    def run_silently(self, line: RawStream, quiet_ms: int) -> PumpEnd:
        """Have the pump wait for the response under way, and return after it. Thread: its own."""
        self._pump.call()
        return self._run(line, quiet_ms)

    def _run_hedged(
        self, connection: NegotiatedConnection, line: RawStream, end: PumpEnd
    ) -> tuple[PumpEnd, Sent[FetchResponse] | None]:
        """Hedge the pump's request; return how the pump ended, or the second request's response."""

        def again() -> FetchRequest:
            frame = self._pump.last_request()[LENGTH_BYTES:]
            return cast("FetchRequest", decode_request(frame, {ApiKey.FETCH: FetchRequest}).request)

        delegated = DelegatedRequest(self, connection, line)
        second = self._exchange.respond(
            delegated, again, waits_ms=self._max_wait_ms, at_most=self._version, is_silent=True
        )
        return delegated.end or end, second

    def _report_counts(self, line: RawStream) -> None:
        counts = PumpCounts(*self._pump.counts())
        throttle_pause_ms(self._broker, counts.throttle_ms, self._repeats)
        if self._report is None:
            return  # the counts may be those of weeks
        for share in each_response(counts):
            overhead_bytes = (counts.received_bytes - counts.size_bytes) // counts.fetches
            line.on_exchanged(
                counts.sent_bytes // counts.fetches,
                share.size_bytes + overhead_bytes - LENGTH_BYTES,
                share.duration_ms,
                share.throttle_ms,
            )
        if counts.fetches or counts.records:
            self._report(counts)

    def failure_of(self, end: PumpEnd) -> TransportError | ProtocolError:
        """Return the error that ended the connection in the pump."""
        broker = self._broker
        if end.failure == _core.IO_NONSENSE:
            return DecodeError("FetchResponse", end.detail, 0, "malformed")
        if end.failure == _core.IO_TIMED_OUT:
            return RequestTimedOut(f"{broker}: no response in time")
        if end.failure == _core.IO_CLOSED:
            return ConnectionLost(f"{broker}: closed the connection")
        return ConnectionLost(f"{broker}: {os.strerror(end.error)}")


class DelegatedRequest:
    """The pump's request in flight, as a ``PendingRequest``; the pump returns on its response.

    Attributes:
        end: how the pump returned, once the response is complete or failed.
    """

    def __init__(
        self, pumped: PumpedExchange, connection: NegotiatedConnection, line: RawStream
    ) -> None:
        self.end: PumpEnd | None = None
        self._pumped = pumped
        self._connection = connection
        self._line = line

    def receive(self, timeout_ms: int) -> Received:
        """See ``PendingRequest``."""
        end = self._pumped.run_silently(self._line, timeout_ms)
        if end.kind == _core.PUMP_SILENT:
            return Received.PART if end.has_received else Received.NOTHING
        self.end = end
        if end.kind == _core.PUMP_BROKEN:
            raise self._pumped.failure_of(end)
        return Received.ALL

    def close(self) -> None:
        """See ``PendingRequest``."""
        self._connection.close()
