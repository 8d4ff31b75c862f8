"""The system clock in milliseconds and in seconds."""

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock, seconds_of, system_s


def test_seconds_advance_with_the_clock() -> None:
    """Differences agree with those of the clock in milliseconds; the origin may differ."""
    clock, seconds = SystemClock(), seconds_of(SystemClock())
    begin_ms, first_s, begun_ms = clock.now_ms(), seconds(), clock.now_ms()
    wait_until(lambda: clock.now_ms() > begun_ms + 20, what="some time")
    end_ms, last_s, ended_ms = clock.now_ms(), seconds(), clock.now_ms()
    assert end_ms - begun_ms - 1 < (last_s - first_s) * 1000 < ended_ms - begin_ms + 1


def test_seconds_of_a_manual_clock() -> None:
    """Seconds of another clock count from that clock's own origin."""
    manual = ManualClock(4_500)
    seconds = seconds_of(manual)
    manual.advance(1_000)
    assert seconds() == 5.5


def test_system_seconds_share_the_system_clock_s_origin() -> None:
    """The system's seconds and milliseconds are the same time."""
    clock = SystemClock()
    before_ms, read_s, after_ms = clock.now_ms(), system_s(), clock.now_ms()
    assert before_ms <= read_s * 1000 < after_ms + 1
