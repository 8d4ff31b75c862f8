"""How the native loop tells an answer from silence and from the end of a connection."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.engines import IS_BUILT, needs_native
from zkconsumer.errors import ConnectionLost
from zkconsumer.net.connection import Received
from zkconsumer.net.hedging import HedgePace

if IS_BUILT:
    from zkconsumer.fetch.native_loop import NativeFetchLoop, _DelegatedRequest, _End
    from zkconsumer.native import _core

pytestmark = needs_native


def ended(kind: int, *, is_for_us: bool = True, has_received: bool = False) -> "_End":
    """How the pump came back."""
    return _End(kind, 1, is_for_us, 0, 0, "", has_received)


def delegated(end: "_End") -> "_DelegatedRequest":
    """A request under way, over which the pump comes back so."""
    loop = SimpleNamespace(
        run_silently=lambda _line, _timeout_ms: end, failure_of=lambda _end: ConnectionLost("gone")
    )
    return _DelegatedRequest(cast("Any", loop), cast("Any", None), cast("Any", None))


def test_an_answer_ends_a_request_well() -> None:
    """And how it came is kept for who settles it."""
    end = ended(_core.PUMP_CALLED)
    one = delegated(end)
    assert (one.receive(100), one.end) == (Received.ALL, end)


def test_a_connection_that_breaks_fails_it() -> None:
    """With what is known of that."""
    end = ended(_core.PUMP_BROKEN)
    one = delegated(end)
    with pytest.raises(ConnectionLost, match="gone"):
        one.receive(100)
    assert one.end == end


@pytest.mark.parametrize(("has_received", "received"), [(True, "PART"), (False, "NOTHING")])
def test_silence_ends_nothing(has_received: bool, received: str) -> None:
    """Part of an answer is a sign of life."""
    one = delegated(ended(_core.PUMP_SILENT, has_received=has_received))
    assert (one.receive(100), one.end) == (Received[received], None)


def test_answers_bring_the_patience_back() -> None:
    """After a second request that was in vain; each of them, whoever it was for."""
    pace = HedgePace(30_000)
    first_ms = pace.quiet_ms
    for _ in range(2):
        pace.lost()
    ends = [ended(_core.PUMP_CALLED, is_for_us=False), ended(_core.PUMP_CALLED)]
    loop = SimpleNamespace(
        _line=SimpleNamespace(exchange=SimpleNamespace(pace=pace)),
        _quiet_ms=1,
        _run=lambda _line, _quiet_ms: ends.pop(0),
    )
    assert pace.quiet_ms == 4 * first_ms
    NativeFetchLoop._run_until_called(cast("Any", loop), cast("Any", None))
    assert (pace.quiet_ms, ends) == (first_ms, [])
