"""Formats decimals, times and tables of settings as Java does."""

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from zkconsumer.assignment.java_order import immutable_map_order, string_hash
from zkconsumer.errors import ConfigError

DATE_FORMAT: Final = "yyyy-MM-dd HH:mm:ss:SSS"
"""The default of the original's performance tools."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOUR_DECIMALS = Decimal("0.0001")
_ANY_DOUBLE = Context(prec=400, rounding=ROUND_HALF_UP)
_PATTERN = re.compile(r"('')|'((?:[^']|'')+)'|([a-zA-Z])\3*|[^a-zA-Z']")
_TABLE_SIZE, _HASH_BITS = 16, 0x7FFFFFFF

_Entry = tuple[str, int]


def fixed_4(value: float) -> str:
    """Return a number with four decimals, ``%.4f``.

    Java rounds the digits that it would print, half away from zero; C rounds the binary number.
    """
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    digits = Decimal(repr(abs(value))).quantize(_FOUR_DECIMALS, context=_ANY_DOUBLE)
    return f"{sign}{digits:f}"


def format_time(at_ms: int, pattern: str = DATE_FORMAT, zone: tzinfo = UTC) -> str:
    """Return a time as ``java.text.SimpleDateFormat`` prints it.

    Args:
        at_ms: the time in milliseconds since the epoch.
        pattern: a pattern of years, months, days, hours, minutes, seconds and milliseconds as
            numbers, and of text.
        zone: the time zone; Java uses the machine's.

    Raises:
        ConfigError: the pattern has other parts.
    """
    at = (_EPOCH + timedelta(milliseconds=at_ms)).astimezone(zone)
    printed, start = [], 0
    for found in _PATTERN.finditer(pattern):
        if found.start() != start:
            break
        start = found.end()
        quote, quoted, letter = found.groups()
        if letter is not None:
            printed.append(_field(at, letter, len(found[0]), pattern))
        elif quote is not None:
            printed.append("'")
        else:
            printed.append(found[0] if quoted is None else quoted.replace("''", "'"))
    if start != len(pattern):
        raise ConfigError(f"date format {pattern!r}: a quote is not closed")
    return "".join(printed)


def _field(at: datetime, letter: str, width: int, pattern: str) -> str:
    numbers = {
        "y": at.year,
        "M": at.month,
        "d": at.day,
        "H": at.hour,
        "m": at.minute,
        "s": at.second,
        "S": at.microsecond // 1000,
    }
    if letter not in numbers or (letter == "M" and width > 2):
        raise ConfigError(
            f"date format {pattern!r}: {letter * width} is not supported, only y, M or MM, d, H, "
            "m, s, S and text in single quotes"
        )
    if letter == "y":
        width = max(width, 4) if width != 2 else 2
        return f"{at.year % 100:02}" if width == 2 else f"{at.year:0{width}}"
    return f"{numbers[letter]:0{width}}"


def properties_order(keys: Iterable[str]) -> list[str]:
    """Return the order in which the original prints a topic's settings.

    It parses them from JSON to an immutable Scala map, and inserts them in that map's order into
    ``java.util.Properties``.
    """
    return table_order(immutable_map_order(keys))


def table_order(keys: Iterable[str]) -> list[str]:
    """Return the iteration order of ``java.util.Properties`` after inserting ``keys`` in order.

    Source: ``java.util.concurrent.ConcurrentHashMap``, which it uses from Java 9 on; older releases
        have another order. (Bins of more than eight keys are not supported.)
    """
    size = _TABLE_SIZE
    table: dict[int, list[_Entry]] = {}
    for count, key in enumerate(keys, start=1):
        entry = key, _spread(string_hash(key))
        table.setdefault(entry[1] & (size - 1), []).append(entry)
        if count >= size - size // 4:
            table = _doubled(table, size)
            size *= 2
    return [key for number in sorted(table) for key, _ in table[number]]


def _spread(hash_code: int) -> int:
    unsigned = hash_code & 0xFFFFFFFF
    return (unsigned ^ (unsigned >> 16)) & _HASH_BITS


def _doubled(table: dict[int, list[_Entry]], size: int) -> dict[int, list[_Entry]]:
    """Split every bin in two; the run at the end of a bin keeps its order, the rest is reversed."""
    doubled: dict[int, list[_Entry]] = {}
    for number, entries in table.items():
        start = len(entries) - 1
        while start and entries[start - 1][1] & size == entries[start][1] & size:
            start -= 1
        halves: dict[int, list[_Entry]] = {0: [], size: []}
        for entry in reversed(entries[:start]):
            halves[entry[1] & size].append(entry)
        halves[entries[-1][1] & size] += entries[start:]
        for half, of_half in halves.items():
            if of_half:
                doubled[number + half] = of_half
    return doubled
