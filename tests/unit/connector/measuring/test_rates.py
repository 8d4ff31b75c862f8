"""Counts and moving averages."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.connector.measuring.rates import TICK_MS, Meter, Rates

ONE_MINUTE = 1 - exp(-5 / 60)


class Ticking:
    """Yammer's ``EWMA`` and ``Meter`` as they are: a thread ticks them every five seconds."""

    def __init__(self) -> None:
        self.pending = 0
        self.rate: float | None = None

    def tick(self) -> None:
        """Five seconds are over."""
        instant = self.pending / 5
        self.pending = 0
        self.rate = instant if self.rate is None else self.rate + ONE_MINUTE * (instant - self.rate)


def test_a_new_meter_shows_zeros() -> None:
    """A meter without events shows zeros, even before any time has passed."""
    assert Meter(1_000).read(1_000) == Rates(0, 0.0, 0.0, 0.0, 0.0)


def test_count_and_mean_rate_cover_the_whole_lifetime() -> None:
    """30 events in 10 s give a count of 30 and a mean rate of 3."""
    meter = Meter(50_000)
    meter.mark(10, 51_000)
    meter.mark(20, 60_000)
    assert meter.read(60_000)[:2] == (30, 3.0)


def test_the_first_five_seconds_set_all_averages() -> None:
    """All averages are 0 for five seconds and then start at the first rate, as in the original."""
    meter = Meter(0)
    meter.mark(50, 1)
    assert meter.read(TICK_MS - 1)[2:] == (0.0, 0.0, 0.0)
    assert meter.read(TICK_MS)[2:] == (10.0, 10.0, 10.0)


def test_rates_decay_faster_over_shorter_windows() -> None:
    """Without events the one-minute rate decays fastest, and is gone after an hour."""
    meter = Meter(0)
    meter.mark(500, 1)
    rates = meter.read(605_000)
    assert 0 < rates.one_minute < 0.01 < rates.five_minutes < rates.fifteen_minutes < 100
    assert meter.read(3_600_000).one_minute == pytest.approx(0, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 30_000), st.integers(0, 1_000)), max_size=30))
def test_averages_equal_those_of_a_ticking_thread(marks: list[tuple[int, int]]) -> None:
    """The averages do not depend on how often events are marked or rates are read."""
    meter, ticking, now_ms, ticked_ms = Meter(0), Ticking(), 0, 0
    for delay_ms, events in marks:
        now_ms += delay_ms
        while ticked_ms + TICK_MS <= now_ms:
            ticking.tick()
            ticked_ms += TICK_MS
        ticking.pending += events
        meter.mark(events, now_ms)
    rates = meter.read(now_ms)
    assert rates.events == meter.count == sum(events for _, events in marks)
    assert rates.one_minute == pytest.approx(ticking.rate or 0.0, abs=1e-9)
