"""Parses the values of options: numbers, booleans, durations, choices. Pure.

Values are texts: PySpark converts Python's numbers and booleans. Blanks around a value are allowed.
Source: Spark 4.2, which uses Java's parsers and ``JavaUtils.timeStringAsMs``.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from zkconsumer.errors import ConfigError
from zkconsumer.printable import shown
from zkconsumer.spark.offset_json import INT_MAX, LONG_MAX

C = TypeVar("C", bound=str)
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_DURATION = re.compile(r"([0-9]{1,20})\s*([a-z]*)")
_UNIT_US = {
    "us": 1,
    "": 1_000,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


def read_bool(option: str, text: str) -> bool:
    """Return a boolean, from ``true`` or ``false`` in any case.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    value = {"true": True, "false": False}.get(text.strip().lower())
    if value is None:
        raise ConfigError(f"{option} is {shown(text)}: it must be true or false")
    return value


def read_long(
    option: str, text: str, *, low: int, high: int = LONG_MAX, what: str = "a whole number"
) -> int:
    """Return a whole number between two bounds, both included.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    value = int(text) if _INTEGER.fullmatch(text.strip()) else None
    if value is None or not low <= value <= high:
        above = "" if high in {LONG_MAX, INT_MAX} else f" and at most {high}"
        raise ConfigError(f"{option} is {shown(text)}: it must be {what}, at least {low}{above}")
    return value


def read_int(option: str, text: str, *, low: int) -> int:
    """Return a whole number of 32 bits.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    return read_long(option, text, low=low, high=INT_MAX)


def first_given(options: Mapping[str, str], names: Sequence[str], default: str) -> tuple[str, str]:
    """Return the first given option with its text; else the first option and the default."""
    return next(((name, options[name]) for name in names if name in options), (names[0], default))


def read_first_int(
    options: Mapping[str, str], names: Sequence[str], default: int, *, low: int
) -> int:
    """Return the whole number of 32 bits of the first given option.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    name, text = first_given(options, names, str(default))
    return read_int(name, text, low=low)


def read_duration_ms(option: str, text: str) -> int:
    """Return a time such as ``500ms``, ``30s``, ``15m``, ``2h``; a bare number is milliseconds.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    match = _DURATION.fullmatch(text.strip().lower())
    unit_us = _UNIT_US.get(match[2]) if match else None
    if match is None or unit_us is None:
        raise ConfigError(
            f"{option} is {shown(text)}: it must be a time such as 500ms, 30s, 15m, 2h or 1d"
        )
    duration_ms = int(match[1]) * unit_us // 1000
    if duration_ms > LONG_MAX:
        raise ConfigError(f"{option} is {shown(text)}: that is longer than 64 bits can hold")
    return duration_ms


def read_choice(option: str, text: str, choices: Sequence[C]) -> C:
    """Return a value that must be one of the choices, in any case.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    value = text.strip().lower()
    for choice in choices:
        if choice == value:
            return choice
    raise ConfigError(f"{option} is {shown(text)}: it must be {' or '.join(choices)}")
