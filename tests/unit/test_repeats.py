"""Repeated warnings: logged at once, then counted, then reported as over."""

import logging

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.repeats import Repeats

log = logging.getLogger("test.repeats")


@pytest.fixture
def clock() -> ManualClock:
    """The clock that the test advances."""
    return ManualClock()


@pytest.fixture
def repeats(clock: ManualClock) -> Repeats:
    """Logs a lasting failure once a minute, and its end after ten seconds of success."""
    return Repeats(log, clock)


def test_the_first_failure_is_logged_and_the_others_are_counted(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """17 failures a second for two minutes are three log lines."""
    for number in range(17 * 120):
        repeats.happened("broker 1", f"broker 1 is down, try {number}")
        clock.advance(59)
    assert caplog.messages == [
        "broker 1 is down, try 0",
        "broker 1 is down, try 1017 (1016 more in the last 60 s)",
        "broker 1 is down, try 2034 (1016 more in the last 60 s)",
    ]


def test_the_end_of_a_failure_is_logged_once(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """After some time of success the end is logged, and the next failure counts as a new one."""
    repeats.happened("reading", "no answer")
    clock.advance(3_000)
    repeats.happened("reading", "no answer")
    assert repeats.due_ms() is None
    repeats.works("reading")
    clock.advance(9_000)
    repeats.works("reading")
    assert repeats.due_ms() == 1_000
    clock.advance(1_000)
    repeats.tick()
    repeats.works("reading")
    repeats.tick()
    repeats.happened("reading", "no answer again")
    assert caplog.messages == [
        "no answer",
        "reading: works again; it failed for 3 s; failures not logged: 1",
        "no answer again",
    ]


def test_an_intermittent_failure_is_not_over(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that accepts every connection and then closes it is one failure."""
    for _ in range(200):
        repeats.happened("broker", "closed the connection")
        repeats.works("broker")
        clock.advance(100)
    repeats.tick()
    assert len(caplog.messages) == 1


def test_failures_are_tracked_separately(
    repeats: Repeats, caplog: pytest.LogCaptureFixture
) -> None:
    """A failing broker does not hide another; what never failed is not reported as over."""
    repeats.works("broker 3")
    repeats.happened("broker 1", "1 is down")
    repeats.happened("broker 2", "2 is down")
    assert caplog.messages == ["1 is down", "2 is down"]


def test_a_failure_after_a_long_silence_is_a_new_one(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure after an hour of silence is logged at once, without a count."""
    repeats.happened("commit", "refused")
    clock.advance(3_600_000)
    repeats.happened("commit", "refused")
    assert caplog.messages == ["refused", "refused"]


def test_a_limited_number_of_failures_is_tracked(
    repeats: Repeats, caplog: pytest.LogCaptureFixture
) -> None:
    """Names may come from others, so the one that was silent longest is dropped first."""
    repeats.happened("first", "first")
    for number in range(1_000):
        repeats.happened(str(number), "other")
    caplog.clear()
    repeats.happened("999", "known")
    repeats.happened("first", "first")
    assert caplog.messages == ["first"]
