"""Corrects times that were read before the local clock was set back. Pure.

The monotonic clock is never set, so the difference of both clocks shows that the local clock was
set back, and by how much.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

T = TypeVar("T")

CLOCK_SET_BACK_MS: Final = 1_000
"""The minimum set-back to follow: clocks are adjusted by less all the time."""
_LOCAL_TIMES: Final = frozenset(
    {
        "at_ms",
        "last_commit_ms",
        "log_at_ms",
        "offsets_at_ms",
        "seen_ms",
        "since_ms",
        "taken_ms",
        "offsets_unchanged_since_ms",
    }
)
"""The fields of values in ``status`` that are times by the local clock; others are servers'."""


def was_set_back(before_ms: int, now_ms: int) -> bool:
    """Return whether the local clock was set back.

    Earlier times are then in the future, and would count as the newest until the clock has reached
    them again.

    Args:
        before_ms: how far it was ahead of the monotonic clock.
        now_ms: how far it is ahead now.
    """
    return now_ms <= before_ms - CLOCK_SET_BACK_MS


def shift_times_back(value: T, by_ms: int) -> T:
    """Return a value with all times by the local clock in it moved back, so that ages stay."""
    moved: Any = _moved(value, by_ms)
    found: T = moved
    return found


def _moved(value: Any, by_ms: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _moved(item, by_ms) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        now = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **_changed(now, by_ms))
    if hasattr(value, "_fields"):  # a named tuple
        return value._replace(**_changed(value._asdict(), by_ms))
    return tuple(_moved(item, by_ms) for item in value) if isinstance(value, tuple) else value


def _changed(now: Mapping[str, Any], by_ms: int) -> dict[str, Any]:
    changed = {
        name: item - by_ms if name in _LOCAL_TIMES and item is not None else _moved(item, by_ms)
        for name, item in now.items()
    }
    return {name: item for name, item in changed.items() if item is not now[name]}
