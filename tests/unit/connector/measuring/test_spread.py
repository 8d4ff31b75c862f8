"""Extremes, means and percentiles."""

import random
from math import exp
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.connector.measuring.spread import NO_SPREAD, SAMPLE_SIZE, Spread

VALUES = st.floats(-1e6, 1e6)


def test_nothing_is_all_zeros() -> None:
    """As JMX shows a histogram that nobody has fed."""
    assert Spread(random.random).read() == NO_SPREAD


@given(st.lists(st.tuples(VALUES, st.integers(1, 5)), min_size=1, max_size=50))
def test_extremes_mean_and_deviation_are_of_all_values(pairs: list[tuple[float, int]]) -> None:
    """Several at once count as often as they were."""
    spread = Spread(random.Random(1).random)
    for value, times in pairs:
        spread.add(value, 0, times)
    values = [value for value, times in pairs for _ in range(times)]
    view = spread.read()
    assert (view.values, view.least, view.most) == (len(values), min(values), max(values))
    assert view.mean == pytest.approx(fmean(values), abs=1e-6)
    assert view.total == pytest.approx(sum(values), abs=1e-3)
    if len(values) > 1:
        assert view.deviation == pytest.approx(stdev(values), rel=1e-6, abs=1e-3)


def test_percentiles_lie_between_their_neighbours() -> None:
    """Of 1 to 100, as Yammer's ``Snapshot`` has them."""
    spread = Spread(random.Random(1).random)
    for value in range(1, 101):
        spread.add(value, value)
    assert spread.read().quantiles == pytest.approx((50.5, 75.75, 95.95, 98.98, 99.99, 100))


def test_percentiles_of_two_values_lie_between_them() -> None:
    """Above the smaller one, as soon as there is a larger one to go to."""
    spread = Spread(random.Random(1).random)
    spread.add(10.0, 1)
    spread.add(20.0, 2)
    assert spread.read().quantiles == (15.0, 20.0, 20.0, 20.0, 20.0, 20.0)


def test_old_values_leave_the_sample() -> None:
    """An hour later the percentiles know only what came since; the extremes know all."""
    spread = Spread(random.Random(1).random)
    for _ in range(5_000):
        spread.add(1_000.0, 0)
    for number in range(2 * SAMPLE_SIZE):
        spread.add(5.0, 3_600_000 + number)
    view = spread.read()
    assert (view.most, view.quantiles[-1]) == (1_000.0, 5.0)


@pytest.mark.parametrize(("luck", "stays"), [(14.99, True), (15.01, False)])
def test_the_sample_forgets_as_fast_as_the_originals(luck: float, *, stays: bool) -> None:
    """In Yammer's biased sample a second is worth a draw that is e ** 0.015 times as lucky."""
    draws = [1 - exp(-luck)] * SAMPLE_SIZE + [0.0]
    spread = Spread(iter(draws).__next__)
    for _ in range(SAMPLE_SIZE):
        spread.add(1.0, 0)
    spread.add(1_000.0, 1_000_000)
    assert (spread.read().quantiles[-1] > 1.0) is stays


def test_the_sample_is_fair_where_no_time_passes() -> None:
    """Of many more values than it holds."""
    spread = Spread(random.Random(1).random)
    for value in range(50_000):
        spread.add(value % 1_000, 0)
    assert spread.read().quantiles[0] == pytest.approx(500, abs=60)


def test_many_equal_values_do_not_fill_the_sample() -> None:
    """No times is no value."""
    spread = Spread(random.Random(1).random)
    spread.add(7.0, 0, 0)
    assert spread.read() == NO_SPREAD
    spread.add(7.0, 0, 1_000_000)
    spread.add(9.0, 0, 16)
    assert spread.read().quantiles == (8.0, 9.0, 9.0, 9.0, 9.0, 9.0)
    assert spread.read().values == 1_000_016
