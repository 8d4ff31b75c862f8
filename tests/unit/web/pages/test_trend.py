"""Trend lines as high as a line of text."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.web.pages.trend import HEIGHT, trend_of


def points(line: str) -> list[tuple[float, float]]:
    """Return the points of one line."""
    found = [point.split(",") for point in line.split()]
    return [(float(x), float(y)) for x, y in found]


def test_a_line_rises_as_the_lag_does() -> None:
    """The largest lag is at the top; one missing sample is no gap, but several are."""
    trend = trend_of([0, None, 5, None, None, None, 10, 20])
    assert trend is not None
    first, second = trend.lines
    assert points(first) == [(0, HEIGHT - 1), (4, 14.5)]
    assert points(second) == [(12, 10), (14, 1)]
    assert trend.message == "in the last hour from 0 to 20, at most 20"


def test_little_is_shown_as_little() -> None:
    """No samples are no line, one sample is a dot, and a lag of zero is a line at the bottom."""
    assert trend_of([]) is None
    assert trend_of([None, None]) is None
    dot = trend_of([None, 7])
    assert dot is not None
    assert points(dot.lines[0]) == [(2, 1), (2, 1)]
    flat = trend_of([0, 0])
    assert flat is not None
    assert points(flat.lines[0]) == [(0, HEIGHT - 1), (2, HEIGHT - 1)]


@given(st.lists(st.none() | st.integers(0, 2**62), max_size=70))
def test_every_value_is_drawn_within_the_picture(lags: list[int | None]) -> None:
    """Each value is drawn once, at its place, within the picture."""
    trend = trend_of(lags)
    known = [place for place, lag in enumerate(lags) if lag is not None]
    if trend is None:
        assert known == []
        return
    drawn = [point for line in trend.lines for point in points(line)]
    assert sorted({x for x, _ in drawn}) == [2 * place for place in known]
    assert all(1 <= y <= HEIGHT - 1 for _, y in drawn)
    assert all(x <= trend.width for x, _ in drawn) or len(lags) == 1
