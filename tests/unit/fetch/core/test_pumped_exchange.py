"""How a pump distinguishes a response, silence and the end of a connection."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.engines import IS_BUILT, needs_native
from zkconsumer.errors import ConnectionLost
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.model import TopicPartition
from zkconsumer.net.hedging import HedgePace
from zkconsumer.net.in_flight import Received

if IS_BUILT:
    from zkconsumer.fetch.core.pumped_exchange import (
        DelegatedRequest,
        PumpedExchange,
        PumpEnd,
        slot_of,
    )
    from zkconsumer.native import _core

pytestmark = needs_native


def ended(kind: int, *, is_for_us: bool = True, has_received: bool = False) -> "PumpEnd":
    """Build the result with which the pump returns."""
    return PumpEnd(kind, 1, is_for_us, 0, 0, "", has_received)


def delegated(end: "PumpEnd") -> "DelegatedRequest":
    """Build a request in flight during which the pump returns this result."""
    pumped = SimpleNamespace(
        run_silently=lambda _line, _timeout_ms: end, failure_of=lambda _end: ConnectionLost("gone")
    )
    return DelegatedRequest(cast("Any", pumped), cast("Any", None), cast("Any", None))


def test_a_response_completes_a_request() -> None:
    """The pump's result is kept for processing."""
    end = ended(_core.PUMP_CALLED)
    request = delegated(end)
    assert (request.receive(100), request.end) == (Received.ALL, end)


def test_a_broken_connection_fails_the_request() -> None:
    """The error says what is known of the connection."""
    end = ended(_core.PUMP_BROKEN)
    request = delegated(end)
    with pytest.raises(ConnectionLost, match="gone"):
        request.receive(100)
    assert request.end == end


@pytest.mark.parametrize(("has_received", "received"), [(True, "PART"), (False, "NOTHING")])
def test_silence_does_not_end_a_request(has_received: bool, received: str) -> None:
    """A partial response is a sign of life."""
    request = delegated(ended(_core.PUMP_SILENT, has_received=has_received))
    assert (request.receive(100), request.end) == (Received[received], None)


def test_responses_reset_the_hedging_delay() -> None:
    """Each response resets it after hedged requests in vain, whichever request it belongs to."""
    pace = HedgePace(30_000)
    first_ms = pace.hedge_delay_ms
    for _ in range(2):
        pace.on_hedge_lost()
    ends = [ended(_core.PUMP_CALLED, is_for_us=False), ended(_core.PUMP_CALLED)]
    pumped = SimpleNamespace(
        _exchange=SimpleNamespace(pace=pace),
        _quiet_ms=1,
        _run=lambda _line, _quiet_ms: ends.pop(0),
    )
    assert pace.hedge_delay_ms == 4 * first_ms
    PumpedExchange._run_until_called(cast("Any", pumped), cast("Any", None))
    assert (pace.hedge_delay_ms, ends) == (first_ms, [])


@needs_native
@pytest.mark.parametrize(("until", "told"), [(None, -1), (7, 7), (1 << 63, (1 << 63) - 1)])
def test_a_slot_ends_where_its_range_does(until: int | None, told: int) -> None:
    """If that is an offset which can be: no log reaches further."""
    state = PartitionState(TopicPartition("t", 0))
    state.until_offset = until
    assert slot_of(state, 0, _core.Progress(), 0)[-1] == told
