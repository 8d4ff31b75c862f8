"""Warnings that would come again and again: at once, then counted, then over."""

import logging

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.repeats import Repeats

log = logging.getLogger("test.repeats")


@pytest.fixture
def clock() -> ManualClock:
    """The time."""
    return ManualClock()


@pytest.fixture
def repeats(clock: ManualClock) -> Repeats:
    """Says what goes on once a minute, and what works for ten seconds is over."""
    return Repeats(log, clock)


def test_the_first_is_said_and_the_others_are_counted(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """17 a second for two minutes are three lines."""
    for number in range(17 * 120):
        repeats.happened("broker 1", f"broker 1 is down, try {number}")
        clock.advance(59)
    assert caplog.messages == [
        "broker 1 is down, try 0",
        "broker 1 is down, try 1017 (1017 times in the last 60 s)",
        "broker 1 is down, try 2034 (1017 times in the last 60 s)",
    ]


def test_what_works_for_a_while_is_over(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once; and the next failure is the first of another trouble."""
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
        "reading: works again; it failed for 3 s, 1 times more",
        "no answer again",
    ]


def test_what_works_now_and_then_goes_on(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that takes every connection and ends it is one trouble."""
    for _ in range(200):
        repeats.happened("broker", "closed the connection")
        repeats.works("broker")
        clock.advance(100)
    repeats.tick()
    assert len(caplog.messages) == 1


def test_troubles_are_told_apart(repeats: Repeats, caplog: pytest.LogCaptureFixture) -> None:
    """One of many brokers does not hide another; what was never in trouble is not over."""
    repeats.works("broker 3")
    repeats.happened("broker 1", "1 is down")
    repeats.happened("broker 2", "2 is down")
    assert caplog.messages == ["1 is down", "2 is down"]


def test_a_long_silence_begins_anew(
    repeats: Repeats, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody said that it works; but nobody counts hours that were well either."""
    repeats.happened("commit", "refused")
    clock.advance(3_600_000)
    repeats.happened("commit", "refused")
    assert caplog.messages == ["refused", "refused"]


def test_names_of_others_take_a_bounded_room(
    repeats: Repeats, caplog: pytest.LogCaptureFixture
) -> None:
    """The one that was silent for longest is forgotten first."""
    repeats.happened("first", "first")
    for number in range(1_000):
        repeats.happened(str(number), "other")
    caplog.clear()
    repeats.happened("999", "known")
    repeats.happened("first", "first")
    assert caplog.messages == ["first"]
