"""Pauses of a call that another thread can cut short."""

import pytest

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.cluster import call_deadline
from zkconsumer.cluster.call_deadline import StopFlag
from zkconsumer.scope import ThreadScope

LONG_MS = 10_000


def test_a_stop_flag_waits_until_its_time_out_or_until_it_is_set() -> None:
    """Once it is set it stays set, and no later wait takes any time."""
    flag, clock = StopFlag(), SystemClock()
    began_ms = clock.now_ms()
    assert not flag.wait(30)
    assert clock.now_ms() - began_ms >= 25
    flag.set()
    flag.set()
    assert flag.is_set
    assert flag.wait(LONG_MS)
    assert clock.now_ms() - began_ms < LONG_MS


def test_setting_a_stop_flag_wakes_all_waiters(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does at once, not when their current sleep is over."""
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
