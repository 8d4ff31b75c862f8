"""The machine's clock, asked in two ways."""

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock, seconds_of, system_s


def test_seconds_pass_as_they_do_by_the_clock() -> None:
    """The start is of no account."""
    clock, seconds = SystemClock(), seconds_of(SystemClock())
    begin_ms, first_s, begun_ms = clock.now_ms(), seconds(), clock.now_ms()
    wait_until(lambda: clock.now_ms() > begun_ms + 20, what="some time")
    end_ms, last_s, ended_ms = clock.now_ms(), seconds(), clock.now_ms()
    assert end_ms - begun_ms - 1 < (last_s - first_s) * 1000 < ended_ms - begin_ms + 1


def test_another_clock_is_the_same_in_seconds() -> None:
    """From its own start."""
    manual = ManualClock(4_500)
    seconds = seconds_of(manual)
    manual.advance(1_000)
    assert seconds() == 5.5


def test_the_machines_seconds_are_those_of_its_clock() -> None:
    """From the same start."""
    clock = SystemClock()
    before_ms, read_s, after_ms = clock.now_ms(), system_s(), clock.now_ms()
    assert before_ms <= read_s * 1000 < after_ms + 1
