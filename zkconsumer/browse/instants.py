"""Parses times and durations. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from zkconsumer.errors import ConfigError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DURATION = re.compile(
    r"P(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,3})?)S)?)?"
)
_AGO = re.compile(r"(?P<count>[0-9]{1,9}) ?(?P<unit>[smhdw]) ago")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LAST_MS: Final = 2**63 - 1


def parse_instant(text: str, now_ms: int) -> int:
    """Parse milliseconds since the epoch, ISO 8601 (UTC by default), or a time before now.

    ``2026-11-21``, ``2026-11-21T20:30``, ``2026-11-21T20:30:00.500+01:00``, ``1795293000500``,
    ``15m ago`` (s, m, h, d or w: seconds, minutes, hours, days, weeks).

    Args:
        text: the text that a user wrote.
        now_ms: the present time in ms since the epoch.

    Returns:
        The time in ms since the epoch.

    Raises:
        ConfigError: it is none of these.
    """
    before = _AGO.fullmatch(text)
    if before is not None:
        at_ms = now_ms - int(before["count"]) * _UNIT_MS[before["unit"]]
        return _since_1970(text, at_ms)
    if text.isascii() and text.isdigit():
        at_ms = int(text[:20])
        if at_ms <= _LAST_MS:
            return at_ms
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or text.isdigit():
        raise ConfigError(
            f"{text!r} is not a time: write milliseconds since 1970, or a time like "
            "2026-11-21T20:30:00Z or 15m ago"
        )
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return _since_1970(text, (at - _EPOCH) // _MILLISECOND)


def _since_1970(text: str, at_ms: int) -> int:
    if at_ms < 0:
        raise ConfigError(f"{text!r} is before 1970")
    return at_ms


def parse_duration(text: str) -> int:
    """Parse an ISO 8601 duration in weeks, days, hours, minutes and seconds; return milliseconds.

    ``P1D``, ``PT90M``, ``P1DT2H30M5.5S``.

    Raises:
        ConfigError: it is malformed.
    """
    found = _DURATION.fullmatch(text.upper())
    parts = {} if found is None else {k: v for k, v in found.groupdict().items() if v is not None}
    if not parts:
        raise ConfigError(f"{text!r} is not a duration: write it like PT90M, P1D or P1DT2H30M")
    whole, _, thousandths = parts.pop("seconds", "0").partition(".")
    units = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60}
    seconds = int(whole) + sum(units[name] * int(count) for name, count in parts.items())
    return seconds * 1000 + int(thousandths.ljust(3, "0"))
