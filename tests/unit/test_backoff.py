"""Delays between attempts."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.backoff import Backoff


def test_delays_double_up_to_the_maximum() -> None:
    """Without jitter the delays are 100, 200, 400 and then at most 500 ms."""
    backoff = Backoff(100, 500, jitter=0)
    assert [backoff.delay_ms(attempt, 0.5) for attempt in range(5)] == [100, 200, 400, 500, 500]


def test_jitter_only_adds_to_a_delay() -> None:
    """The configured delay is the shortest; jitter never shortens it."""
    backoff = Backoff(1_000, 1_000, jitter=0.2)
    assert backoff.delay_ms(0, 0.0) == 1_000
    assert backoff.delay_ms(0, 0.5) == 1_100
    assert backoff.delay_ms(0, 0.999) == 1_199


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(0, 0.999))
def test_a_delay_is_always_within_its_bounds(max_ms: int, attempt: int, random: float) -> None:
    """A delay stays between the initial and the maximum one with jitter, after any attempt."""
    delay_ms = Backoff(7, max_ms).delay_ms(attempt, random)
    assert min(7, max_ms) <= delay_ms <= max_ms * 1.2
