"""The machine's clock, asked in two ways."""

from tests.support.manual_clock import ManualClock
from zkconsumer.clock import SystemClock, seconds_of


def test_seconds_are_those_of_the_clock() -> None:
    """From the same start, whichever clock it is."""
    clock = SystemClock()
    before_ms, asked, after_ms = clock.now_ms(), seconds_of(clock)(), clock.now_ms()
    assert before_ms <= asked * 1000 < after_ms + 1
    manual = ManualClock(4_500)
    ask = seconds_of(manual)
    manual.advance(1_000)
    assert ask() == 5.5
