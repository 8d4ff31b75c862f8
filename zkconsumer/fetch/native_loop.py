"""The native fetch loop: ``PythonFetchLoop``, with a pump in C for its steady state.

Supported partitions are delegated to the pump (``delegation``), which works without the GIL
until something is unsupported or the loop is called; then Python takes all of them back, and runs
the inherited code. So a fetch loop's behaviour is defined once, and the pump does most of the work.
See ``native/csrc/pump.h`` for the pump's side, and docs/decisions/0012.
"""

from collections.abc import Iterable
from typing import Protocol, cast

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import ChunkSink, PartitionClaim
from zkconsumer.fetch.core.delegated import PumpCounts, Returned
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.pumped_exchange import PumpedExchange, PumpLoad, Slot, slot_of
from zkconsumer.fetch.core.requests import requested_in
from zkconsumer.fetch.delegation import Delegation, NativeDelegate
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.native import _core
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.observe import Fetched


class _NativeSink(ChunkSink, Protocol):
    """A queue that C can fill."""

    native: _core.Queue


def _can_fill(sink: ChunkSink) -> bool:
    return hasattr(sink, "native")


class NativeFetchLoop(PythonFetchLoop):
    """Fetch from one broker without the GIL, if the connection has a descriptor."""

    def _set_up(self) -> None:
        self._delegate = NativeDelegate(self._partitions, _can_fill)
        self._is_whole_turn = True
        self._pumped = PumpedExchange(
            self._line.exchange,
            self._settings,
            self._broker,
            clock=self._clock,
            repeats=self._repeats,
            report=self._report_counts if self._observation.has_observers else None,
        )

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """See ``PythonFetchLoop``."""
        super().add(claim, fetch_offset, jumps=jumps)
        self._pumped.call()

    def wake(self) -> None:
        """See ``PythonFetchLoop``."""
        super().wake()
        self._pumped.call()

    def stop(self) -> None:
        """See ``PythonFetchLoop``."""
        super().stop()
        self._pumped.stop()

    def run(self) -> None:
        """See ``PythonFetchLoop``. Afterwards the loop holds no file descriptor."""
        try:
            super().run()
        finally:
            self._pumped.close()

    def _may_send_early(self, connection: NegotiatedConnection, arriving_bytes: int) -> bool:
        # A connection is delegated to the pump only without a request in flight; the pump sends its
        # own early requests.
        return not connection.has_descriptor and super()._may_send_early(connection, arriving_bytes)

    def _turn(self) -> None:
        # Before the mailbox is read: callers put their command there before they call the pump.
        self._pumped.clear_call()
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

        def take_back(returned: Iterable[Returned]) -> None:
            self._shared.change(
                lambda _, now_ms: self._delegate.take_back(delegation, returned, now_ms)
            )
            self._settle()

        version = self._line.exchange.fetch_version
        second = self._pumped.run(connection, version, _load(delegation), take_back)
        if second is not None:
            requests = self._partitions.requests_of(requested_in(second.request))
            self._line.take(without_session(requests, {}), second.response, second.took_ms)
            self._after_exchange()

    def _report_counts(self, counts: PumpCounts) -> None:
        self._observation.report(
            Fetched(
                broker_id=self._broker.id,
                partitions=counts.partitions,
                size_bytes=counts.size_bytes,
                records=counts.records,
                duration_ms=counts.duration_ms,
                fetches=counts.fetches,
            )
        )


def _load(delegation: Delegation) -> PumpLoad:
    """Convert a delegation to the pump's arguments."""
    places: dict[ChunkSink, int] = {}
    queues: list[_core.Queue] = []
    topics: dict[str, list[Slot]] = {}
    for part in delegation.parts:
        claim = part.claim
        sink = cast("_NativeSink", claim.sink)
        if sink not in places:
            places[sink] = len(queues)
            queues.append(sink.native)
        sink.native.adopt(claim)
        slot = slot_of(part.state, places[sink], claim, part.offset)
        topics.setdefault(claim.topic_partition.topic, []).append(slot)
    return PumpLoad(
        queues=queues,
        topics=[(topic.encode(), slots) for topic, slots in topics.items()],
        part_bytes=delegation.part_bytes,
        grown_bytes=delegation.grown_bytes,
        others_wait=delegation.others_wait,
    )
