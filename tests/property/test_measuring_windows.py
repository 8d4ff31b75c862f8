"""Metrics over sliding windows of values, compared with all values ever taken."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.consumer.measuring.windows import Windowed, WindowTerms

TERMS = WindowTerms(samples=3, window_ms=100)
SPAN_MS = TERMS.samples * TERMS.window_ms


@given(
    steps=st.lists(st.tuples(st.integers(0, 250), st.integers(0, 1000)), max_size=40),
    later_ms=st.integers(0, 500),
)
def test_recent_values_count_and_old_ones_do_not(
    steps: list[tuple[int, int]], later_ms: int
) -> None:
    """A value in between counts if its window has an older one."""
    windowed = Windowed(TERMS)
    taken: list[tuple[int, int]] = []
    now_ms = 0
    for step_ms, value in steps:
        now_ms += step_ms
        windowed.take(value, now_ms)
        taken.append((now_ms, value))
    now_ms += later_ms
    most = [value for at_ms, value in taken if at_ms > now_ms - SPAN_MS]
    # Two closed windows may count; values that are younger than them always do.
    least = [value for at_ms, value in taken if at_ms > now_ms - SPAN_MS + TERMS.window_ms]
    assert max(least, default=0) <= windowed.highest(now_ms) <= max(most, default=0)
    rate_per_ms = windowed.rate(now_ms) / 1000
    assert rate_per_ms * SPAN_MS >= sum(least) - 1e-6
    assert rate_per_ms * (SPAN_MS - TERMS.window_ms) <= sum(most) + 1e-6
    assert (windowed.count_rate(now_ms) > 0) >= bool(least)
    low, high = min(most, default=0), max(most, default=0)
    assert low <= windowed.average(now_ms) <= high or not windowed.average(now_ms)
    assert windowed.rate(now_ms) == windowed.rate(now_ms)
    assert windowed.highest(now_ms + SPAN_MS) == windowed.rate(now_ms + SPAN_MS) == 0
    assert windowed.average(now_ms + SPAN_MS) == windowed.count_rate(now_ms + SPAN_MS) == 0


def test_a_first_value_does_not_make_a_high_rate() -> None:
    """Windows that have not begun so far count with their full length."""
    windowed = Windowed(WindowTerms(2, 30_000))
    windowed.take(600, 5_000)
    assert windowed.rate(5_000) == 20
    assert windowed.rate(20_000) == 600 / 45
    assert windowed.count_rate(35_000) == 1 / 30
    windowed.take(300, 35_000)
    assert (windowed.average(35_000), windowed.highest(35_000)) == (450, 600)
    assert windowed.highest(65_000) == 300
