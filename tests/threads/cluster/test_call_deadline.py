"""Pauses that can be cut short."""

import pytest

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster import call_deadline
from zkconsumer.cluster.call_deadline import StopFlag
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000


def test_waits_as_long_as_it_is_told() -> None:
    """And no longer, where it is set; that is for good."""
    flag, clock = StopFlag(), SystemClock()
    began_ms = clock.now_ms()
    assert not flag.wait(30)
    assert clock.now_ms() - began_ms >= 25
    flag.set()
    flag.set()
    assert flag.is_set
    assert flag.wait(LONG_MS)
    assert clock.now_ms() - began_ms < LONG_MS


def test_wakes_whoever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, and at once: not with the next nap."""
    monkeypatch.setattr(call_deadline, "naps", lambda timeout_ms: iter([timeout_ms, 0]))
    flag = StopFlag()
    ended: list[bool] = []
    scope = ThreadScope("test-stop-flag")
    for role in ("one", "two"):
        scope.spawn(role, lambda: ended.append(flag.wait(LONG_MS)), stop=flag.set)
    wait_until(lambda: len(flag._waiting) == 2, what="two who wait")
    assert scope.close(LONG_MS // 2) == []
    assert ended == [True, True]
    assert not flag._waiting
