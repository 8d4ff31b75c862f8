"""Make the pump of a connection for polls and ranges, and count what it fetched."""

from collections.abc import Callable
from typing import cast

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.fetch.core.delegated import DelegatedFetch, PumpCounts, each_response
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.hedged_exchange import SecondResponse
from zkconsumer.fetch.core.pumped_connection import PumpedConnection, TakeBack
from zkconsumer.fetch.core.pumped_exchange import (
    PumpedExchange,
    PumpLoad,
    Slot,
    slot_of,
)
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import Counters, ResponseCounts, SharedFetchState
from zkconsumer.native import _core
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.messages.fetch import LAST_BY_NAME

_MOST_CHUNKS = 1 << 20
"""Queues are bounded by bytes instead."""


class NativePumped(PumpedExchange):
    """Exchange requests for delegated partitions in C.

    Args:
        line: the connection.
        shared: counts what is fetched.
        settings: fetch settings.
        clock: for time-outs.
    """

    def __init__(
        self,
        line: FetchConnection,
        shared: SharedFetchState,
        settings: CoreFetchSettings,
        clock: Clock,
    ) -> None:
        self._line = line
        self._shared = shared
        super().__init__(
            line.exchange,
            settings,
            line.broker,
            clock=clock,
            repeats=shared.repeats,
            report=self._count,
        )

    def fetch(
        self,
        connection: NegotiatedConnection,
        version: int,
        delegation: BrokerDelegation,
        take_back: TakeBack,
    ) -> SecondResponse | None:
        """See ``PumpedExchange.run``."""
        load = _load(delegation, by_id=version > LAST_BY_NAME)
        return self.run(connection, version, load, take_back)

    def _count(self, counts: PumpCounts) -> None:
        self._line.on_response()
        self._shared.count(
            Counters(
                fetches=counts.fetches,
                fetched_bytes=counts.size_bytes,
                fetched_records=counts.records,
                throttle_time_ms=counts.throttled_ms,
            )
        )
        partitions = counts.partitions // max(1, counts.fetches)
        for share in each_response(counts):
            self._shared.fetched(
                ResponseCounts(partitions, share.size_bytes, share.records, share.duration_ms)
            )


def make_pump(
    line: FetchConnection,
    shared: SharedFetchState,
    settings: CoreFetchSettings,
    clock: Clock,
    wake: Callable[[], None],
) -> PumpedConnection:
    """Make the pump of a connection; see ``pump_maker.MakePump``."""

    def make(requested: PartitionRequest, queue_bytes: int) -> DelegatedFetch:
        queue = _core.Queue(_MOST_CHUNKS, None, wake)
        queue.set_share(queue_bytes)
        return DelegatedFetch(requested, _core.Progress(), queue)

    def open_pump() -> NativePumped | None:
        try:
            return NativePumped(line, shared, settings, clock)
        except MemoryError:  # or there is no free file descriptor
            return None

    return PumpedConnection(line, shared, open_pump, make)


def _load(delegation: BrokerDelegation, *, by_id: bool) -> PumpLoad:
    queues: list[_core.Queue] = []
    topics: dict[bytes, list[Slot]] = {}
    for state, fetch in zip(delegation.states, delegation.fetches, strict=True):
        requested = fetch.requested
        tp = requested.topic_partition
        name = requested.topic_id if by_id and requested.topic_id else tp.topic.encode()
        claim, offset = cast("_core.Progress", fetch.claim), requested.start.offset
        slot = slot_of(state, len(queues), claim, offset, requested.leader_epoch)
        topics.setdefault(name, []).append(slot)
        queues.append(cast("_core.Queue", fetch.queue))
    return PumpLoad(
        queues=queues,
        topics=list(topics.items()),
        part_bytes=delegation.part_bytes,
        grown_bytes=delegation.grown_bytes,
        ends_at_head=True,
    )
