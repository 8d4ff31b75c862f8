"""Formats numbers, times and states for the pages. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from zkconsumer.status.burrow import BurrowStatus
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.lag import TimeLag
from zkconsumer.status.model import GroupState

NOT_KNOWN: Final = "\N{EN DASH}"
_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


class Tone(StrEnum):
    """The rating of a value; each is a class of the style sheet, with an icon."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"
    CALM = "calm"


STATE_MEANINGS: Final[Mapping[GroupState, str]] = {
    GroupState.STABLE: "Every partition that its members read has an owner.",
    GroupState.REBALANCING: "Some partitions are not owned as they should be, or a registration "
    "can't be read. That is normal for a moment.",
    GroupState.EMPTY: "It has no members; its offsets are kept.",
    GroupState.DEAD: "It has no members and no offsets.",
    GroupState.ABANDONED: "It has no members, and has not committed for a long time.",
    GroupState.UNKNOWN: "The data needed to tell could not be read.",
}
BURROW_TONES: Final[Mapping[BurrowStatus, Tone]] = {
    BurrowStatus.NOTFOUND: Tone.CALM,
    BurrowStatus.OK: Tone.OK,
    BurrowStatus.WARN: Tone.WARN,
    BurrowStatus.ERR: Tone.BAD,
    BurrowStatus.STOP: Tone.BAD,
    BurrowStatus.STALL: Tone.BAD,
    BurrowStatus.REWIND: Tone.BAD,
}
BURROW_WORDS: Final[Mapping[BurrowStatus, str]] = {
    BurrowStatus.NOTFOUND: "not in use",
    BurrowStatus.OK: "keeps up",
    BurrowStatus.WARN: "falls behind",
    BurrowStatus.ERR: "partly stuck",
    BurrowStatus.STOP: "no commits",
    BurrowStatus.STALL: "stands still",
    BurrowStatus.REWIND: "went back",
}
"""Burrow's status in plain words; Burrow's own name is in the tooltip, and in metrics."""
SEVERITY_TONES: Final[Mapping[Severity, Tone]] = {
    Severity.NOTE: Tone.NOTE,
    Severity.WARNING: Tone.WARN,
    Severity.ERROR: Tone.BAD,
}


def count(number: int | None) -> str:
    """Format a number as ``12,345``; a dash if unknown."""
    return NOT_KNOWN if number is None else f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 group``, ``3,000 groups``."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def short(number: int | None) -> str:
    """Format a number as ``12.3k``: at most three digits, for narrow columns."""
    if number is None:
        return NOT_KNOWN
    value, units = float(number), iter(("k", "M", "G", "T", "P"))
    if value < 1_000:
        return str(number)
    unit = ""
    while value >= 999.5 and (bigger := next(units, None)) is not None:
        value, unit = value / 1_000, bigger
    return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.1f}{unit}"


def duration(ms: int | None) -> str:
    """Format a duration: ``850 ms``, ``4.2 s``, ``3 min 5 s``, ``2 h 10 min``, ``3 d 4 h``."""
    if ms is None:
        return NOT_KNOWN
    if ms < _SECOND:
        return f"{max(0, ms)} ms"
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.1f} s"
    if ms < _MINUTE:
        return f"{ms // _SECOND} s"
    if ms < _HOUR:
        return _two_units(ms, _MINUTE, "min", _SECOND, "s")
    if ms < _DAY:
        return _two_units(ms, _HOUR, "h", _MINUTE, "min")
    return _two_units(ms, _DAY, "d", _HOUR, "h")


def _two_units(ms: int, large: int, name: str, small: int, part: str) -> str:
    rest = ms % large // small
    return f"{ms // large} {name} {rest} {part}" if rest else f"{ms // large} {name}"


def age(at_ms: int | None, now_ms: int) -> str:
    """Format an age in one unit: ``now``, ``4 s``, ``3 min``, ``2 h``, ``5 d``; ``never`` for None.

    The page's script updates it in the same words.
    """
    if at_ms is None:
        return "never"
    ms = now_ms - at_ms
    if ms < _SECOND:
        return "now"
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if ms >= unit:
            return f"{ms // unit} {name}"
    return f"{ms // _SECOND} s"


def ago(at_ms: int, now_ms: int) -> str:
    """Format a time by its age: ``now``, ``4 s ago``."""
    text = age(at_ms, now_ms)
    return text if text == "now" else f"{text} ago"


def time_lag(lag: TimeLag | None) -> str:
    """Format a lag in time; an estimate begins with a tilde."""
    if lag is None:
        return NOT_KNOWN
    if lag.ms == 0:
        return "0 s"
    return f"{'~' if lag.estimated else ''}{duration(lag.ms)}"


def moment(at_ms: int | None) -> str:
    """Format a date and time in UTC; a dash if unknown, or not a valid date."""
    try:
        return NOT_KNOWN if at_ms is None else _at(at_ms).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return NOT_KNOWN  # producers may give a record any timestamp


def clock(at_ms: int | None) -> str:
    """Format the time of day in UTC, as the commands print it."""
    return NOT_KNOWN if at_ms is None else _at(at_ms).strftime("%H:%M:%S UTC")


def rate(per_second: float | None) -> str:
    """Format records per second: ``0.4``, ``12``, ``1.2k``."""
    if per_second is None:
        return NOT_KNOWN
    if 0 < per_second < 9.95:
        return f"{per_second:.1f}"
    return short(round(per_second))


def burrow_about(status: BurrowStatus) -> str:
    """Return the meaning of a status, with Burrow's name for it."""
    return f"{status.meaning} (Burrow: {status.name})"


def iso(at_ms: int) -> str:
    """Format a time for ``datetime`` attributes."""
    return _at(at_ms).strftime("%Y-%m-%dT%H:%M:%S") + f".{at_ms % 1000:03}Z"


def segment(text: str) -> str:
    """Return a text as one segment of a URL path."""
    return quote(text, safe="")


def _at(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms // 1000, UTC)


FILTERS: Final[Mapping[str, Callable[..., str]]] = {
    "age": age,
    "ago": ago,
    "clock": clock,
    "count": count,
    "counted": counted,
    "iso": iso,
    "moment": moment,
    "rate": rate,
    "segment": segment,
    "short": short,
    "time_lag": time_lag,
}
