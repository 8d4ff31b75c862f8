"""Parsing instants and durations as users write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.browse.instants import parse_duration, parse_instant
from zkconsumer.errors import ConfigError

NOW_MS = 1_795_293_000_500


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("0", 0),
        ("1795293000500", 1_795_293_000_500),
        ("2026-11-21", 1_795_219_200_000),
        ("2026-11-21T20:30", 1_795_293_000_000),
        ("2026-11-21T20:30:00.500Z", 1_795_293_000_500),
        ("2026-11-21T21:30:00.500+01:00", 1_795_293_000_500),
        ("2026-11-21 20:30:00", 1_795_293_000_000),
    ],
)
def test_an_instant_is_milliseconds_or_iso_8601(text: str, at_ms: int) -> None:
    """An instant without a time zone is taken as UTC."""
    assert parse_instant(text, NOW_MS) == at_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s ago", 0),
        ("90s ago", 90_000),
        ("15m ago", 900_000),
        ("15 m ago", 900_000),
        ("2h ago", 7_200_000),
        ("3d ago", 259_200_000),
        ("1w ago", 604_800_000),
    ],
)
def test_an_instant_may_be_relative_to_now(text: str, ms: int) -> None:
    """An instant such as "15m ago" counts back in seconds, minutes, hours, days or weeks."""
    assert parse_instant(text, NOW_MS) == NOW_MS - ms


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "-1", "20:30", "2026-13-01", "9" * 30, "1969-12-31", "١٢٣", "2026-11-21T25"),
        *(
            "15m",
            "ago",
            "m ago",
            "-5m ago",
            "5y ago",
            "5M ago",
            "1.5h ago",
            "\u0661m ago",
            "5m ago ",
        ),
        *("999999999w ago", "9999999999s ago", "15m from now"),
    ],
)
def test_an_invalid_instant_is_refused(text: str) -> None:
    """The error shows how to write an instant, or says that it is before 1970."""
    with pytest.raises(ConfigError, match=r"write milliseconds since 1970|is before 1970"):
        parse_instant(text, NOW_MS)


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - with the zone
def test_every_instant_is_parsed_to_the_millisecond(at: datetime) -> None:
    """An instant is parsed to the same millisecond from ISO 8601 and from a number."""
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    at_ms = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    assert parse_instant(at.isoformat(timespec="milliseconds"), NOW_MS) == at_ms
    assert parse_instant(str(at_ms), NOW_MS) == at_ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("PT0S", 0),
        ("P1D", 86_400_000),
        ("P2W", 1_209_600_000),
        ("PT90M", 5_400_000),
        ("pt1h", 3_600_000),
        ("P1DT2H30M5.5S", 95_405_500),
        ("PT0.001S", 1),
    ],
)
def test_a_duration_is_iso_8601(text: str, ms: int) -> None:
    """ISO 8601 durations are parsed down to milliseconds."""
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1Y", "PT1.2345S", "P-1D", "90m"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    """The error shows how to write a duration."""
    with pytest.raises(ConfigError, match="is not a duration: write it like PT90M"):
        parse_duration(text)
