"""Windows of values, beside all values that were ever taken."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.consumer.measuring.windows import Windowed, WindowTerms

TERMS = WindowTerms(samples=3, window_ms=100)
SPAN_MS = TERMS.samples * TERMS.window_ms


@given(
    steps=st.lists(st.tuples(st.integers(0, 250), st.integers(0, 1000)), max_size=40),
    later_ms=st.integers(0, 500),
)
def test_what_is_young_counts_and_what_is_old_does_not(
    steps: list[tuple[int, int]], later_ms: int
) -> None:
    """Between the two lies what shares its window with something older."""
    one = Windowed(TERMS)
    taken: list[tuple[int, int]] = []
    now_ms = 0
    for step_ms, value in steps:
        now_ms += step_ms
        one.take(value, now_ms)
        taken.append((now_ms, value))
    now_ms += later_ms
    most = [value for at_ms, value in taken if at_ms > now_ms - SPAN_MS]
    # The windows that are closed and count may be two; what is younger than them surely counts.
    least = [value for at_ms, value in taken if at_ms > now_ms - SPAN_MS + TERMS.window_ms]
    assert max(least, default=0) <= one.highest(now_ms) <= max(most, default=0)
    rate_per_ms = one.rate(now_ms) / 1000
    assert rate_per_ms * SPAN_MS >= sum(least) - 1e-6
    assert rate_per_ms * (SPAN_MS - TERMS.window_ms) <= sum(most) + 1e-6
    assert (one.count_rate(now_ms) > 0) >= bool(least)
    low, high = min(most, default=0), max(most, default=0)
    assert low <= one.average(now_ms) <= high or not one.average(now_ms)
    assert one.rate(now_ms) == one.rate(now_ms)
    assert one.highest(now_ms + SPAN_MS) == one.rate(now_ms + SPAN_MS) == 0
    assert one.average(now_ms + SPAN_MS) == one.count_rate(now_ms + SPAN_MS) == 0


def test_a_first_value_is_not_taken_for_a_flood() -> None:
    """The windows that have not been yet count as whole ones."""
    one = Windowed(WindowTerms(2, 30_000))
    one.take(600, 5_000)
    assert one.rate(5_000) == 20
    assert one.rate(20_000) == 600 / 45
    assert one.count_rate(35_000) == 1 / 30
    one.take(300, 35_000)
    assert (one.average(35_000), one.highest(35_000)) == (450, 600)
    assert one.highest(65_000) == 300
