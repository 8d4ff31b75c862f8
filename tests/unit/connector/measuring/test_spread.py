"""Extremes, means and percentiles."""

import random
from math import exp
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.connector.measuring.spread import NO_SPREAD, SAMPLE_SIZE, Spread

VALUES = st.floats(-1e6, 1e6)


def test_an_empty_spread_is_all_zeros() -> None:
    """A spread without values shows zeros, as JMX shows an empty histogram."""
    assert Spread(random.random).read() == NO_SPREAD


@given(st.lists(st.tuples(VALUES, st.integers(1, 5)), min_size=1, max_size=50))
def test_extremes_mean_and_deviation_are_of_all_values(pairs: list[tuple[float, int]]) -> None:
    """Extremes, mean and deviation cover all values; a value may be added several times at once."""
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


def test_percentiles_are_interpolated() -> None:
    """Percentiles of 1 to 100 equal those of Yammer's ``Snapshot``."""
    spread = Spread(random.Random(1).random)
    for value in range(1, 101):
        spread.add(value, value)
    assert spread.read().quantiles == pytest.approx((50.5, 75.75, 95.95, 98.98, 99.99, 100))


def test_percentiles_of_two_values_lie_between_them() -> None:
    """Percentiles of two values interpolate between them and reach the larger one."""
    spread = Spread(random.Random(1).random)
    spread.add(10.0, 1)
    spread.add(20.0, 2)
    assert spread.read().quantiles == (15.0, 20.0, 20.0, 20.0, 20.0, 20.0)


def test_old_values_leave_the_sample() -> None:
    """An hour later percentiles cover only recent values; the maximum still covers all."""
    spread = Spread(random.Random(1).random)
    for _ in range(5_000):
        spread.add(1_000.0, 0)
    for number in range(2 * SAMPLE_SIZE):
        spread.add(5.0, 3_600_000 + number)
    view = spread.read()
    assert (view.most, view.quantiles[-1]) == (1_000.0, 5.0)


@pytest.mark.parametrize(("luck", "stays"), [(14.99, True), (15.01, False)])
def test_the_sample_ages_as_fast_as_the_original_s(luck: float, *, stays: bool) -> None:
    """Each second weighs a sample by e ** 0.015, as in Yammer's biased sample."""
    draws = [1 - exp(-luck)] * SAMPLE_SIZE + [0.0]
    spread = Spread(iter(draws).__next__)
    for _ in range(SAMPLE_SIZE):
        spread.add(1.0, 0)
    spread.add(1_000.0, 1_000_000)
    assert (spread.read().quantiles[-1] > 1.0) is stays


def test_values_of_the_same_time_are_sampled_evenly() -> None:
    """The median of far more values than the sample holds is about right."""
    spread = Spread(random.Random(1).random)
    for value in range(50_000):
        spread.add(value % 1_000, 0)
    assert spread.read().quantiles[0] == pytest.approx(500, abs=60)


def test_many_equal_values_do_not_fill_the_sample() -> None:
    """A value that is added a million times at once leaves room for others; 0 times adds none."""
    spread = Spread(random.Random(1).random)
    spread.add(7.0, 0, 0)
    assert spread.read() == NO_SPREAD
    spread.add(7.0, 0, 1_000_000)
    spread.add(9.0, 0, 16)
    assert spread.read().quantiles == (8.0, 9.0, 9.0, 9.0, 9.0, 9.0)
    assert spread.read().values == 1_000_016
