"""Quiet hours."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.notify.quiet import QuietHours

BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY_NIGHT = QuietHours(begin=22 * 60, end=7 * 60, zone=BERLIN, days=frozenset([4]))


@pytest.mark.parametrize(
    ("local", "covered"),
    [
        ("2026-11-20T21:59", False),  # a Friday
        ("2026-11-20T22:00", True),
        ("2026-11-21T06:59", True),
        ("2026-11-21T07:00", False),
        ("2026-11-21T22:30", False),
        ("2026-11-20T03:00", False),  # it began on Thursday
        ("2026-03-28T02:30", True),
    ],
)
def test_a_night_belongs_to_the_day_on_which_it_begins(local: str, *, covered: bool) -> None:
    """Times are local to the zone of the quiet hours."""
    at = datetime.fromisoformat(local).replace(tzinfo=BERLIN)
    assert FRIDAY_NIGHT.covers(int(at.timestamp() * 1000)) is covered


def test_summer_time_shortens_quiet_hours() -> None:
    """In Berlin there is no time between 02:00 and 03:00 on 2026-03-29."""
    hours = QuietHours(begin=60, end=4 * 60, zone=BERLIN)
    midnight = datetime(2026, 3, 29, tzinfo=BERLIN).timestamp()
    covered = [hours.covers(int(midnight + minute * 60) * 1000) for minute in range(24 * 60)]
    assert sum(covered) == 120


@given(st.integers(0, 1439), st.integers(0, 1439), st.integers(0, 10_080))
def test_quiet_hours_and_their_complement_cover_the_day(begin: int, end: int, minute: int) -> None:
    """Hours and their complement cover each minute once; equal ends mean the whole day."""
    zone = ZoneInfo("UTC")
    at_ms = minute * 60_000
    covers = QuietHours(begin=begin, end=end, zone=zone).covers(at_ms)
    opposite = QuietHours(begin=end, end=begin, zone=zone).covers(at_ms)
    assert (covers and opposite) if begin == end else (covers is not opposite)
