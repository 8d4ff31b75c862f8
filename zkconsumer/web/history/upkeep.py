"""Keeps the history small: old samples are thinned out, then deleted."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import size_of

UPKEEP_MS: Final = 600_000
"""The interval between two runs of ``maintain``."""
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
POINTS: Final = 360
"""How many samples of a group are kept for each doubling of their age."""
_LEAST_POINTS: Final = 5
_LEAST_WIDTH_MS: Final = 10_000
"""Twice the interval between two samples."""
_EACH_TIME: Final = 10
"""While the file is too large, the oldest of this many parts of its time range is deleted."""
_VACUUM_PAGES: Final = 2_000
"""How many pages are freed in one transaction, so that the write-ahead log stays small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How much of the history is kept, and for how long.

    Attributes:
        days: how long to keep samples and rebalances.
        max_bytes: the maximum size of the file; if it is exceeded, fewer samples are kept.
    """

    days: int = 14
    max_bytes: int = 1 << 30


def intervals_by_age(now_ms: int, oldest_ms: int, points: int) -> Iterator[tuple[int, int, int]]:
    """Yield the start and end of each age range, and the interval for which it keeps one sample.

    Intervals double with the age, so that each doubling keeps ``points`` samples. They begin at
    multiples of their length, so that repeated runs, even with fewer points, keep the same ones.
    """
    width_ms = _LEAST_WIDTH_MS
    until_ms = _begin(now_ms - points * width_ms, width_ms)
    while until_ms > oldest_ms:
        since_ms = _begin(now_ms - points * 2 * width_ms, 2 * width_ms)
        yield since_ms, until_ms, width_ms
        until_ms, width_ms = since_ms, 2 * width_ms


def maintain(connection: sqlite3.Connection, retention: Retention, now_ms: int) -> None:
    """Apply the retention, in a transaction per group, so that others can write in between.

    A file that is too large is thinned out to three quarters of the limit, so that this is rarely
    needed.

    Raises:
        sqlite3.Error: it failed; a later run may succeed.
    """
    horizon_ms = now_ms - retention.days * DAY_MS
    every = [series for (series,) in connection.execute(sql.ALL_SERIES).fetchall()]
    points = POINTS
    is_large = size_of(connection) > retention.max_bytes
    _thin(connection, every, horizon_ms, now_ms, points)
    while is_large and size_of(connection) > _goal(retention) and points > _LEAST_POINTS:
        points //= 2
        _thin(connection, every, horizon_ms, now_ms, points)
    if is_large:
        _forget_oldest(connection, _goal(retention), every)
    connection.execute(sql.FORGET_SERIES)
    _give_back(connection)


def _give_back(connection: sqlite3.Connection) -> None:
    """Shrink the file by its free pages, unless it was created to keep them."""
    before = None
    while (free := _free_pages(connection)) and free != before:
        before = free
        # Each step of the statement frees one page; ``executescript`` runs all of them.
        connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")


def _free_pages(connection: sqlite3.Connection) -> int:
    count: int = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return count


def _begin(at_ms: int, width_ms: int) -> int:
    return at_ms // width_ms * width_ms


def _goal(retention: Retention) -> int:
    return retention.max_bytes // 4 * 3


def _thin(
    connection: sqlite3.Connection, every: list[int], horizon_ms: int, now_ms: int, points: int
) -> None:
    """Keep the worst sample of each interval, and nothing from before the horizon."""
    intervals = list(intervals_by_age(now_ms, horizon_ms, points))
    for series in every:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(sql.FORGET_SAMPLES, (series, horizon_ms))
        connection.execute(sql.FORGET_REBALANCES, (series, horizon_ms))
        for since_ms, until_ms, width_ms in intervals:
            values = {"since_ms": since_ms, "until_ms": until_ms, "width_ms": width_ms}
            connection.execute(sql.THIN, {**values, "series": series})
        connection.execute("COMMIT")
    # Unused layouts count towards the file's size, and must not cost further samples.
    connection.execute(sql.FORGET_LAYOUTS)


def _forget_oldest(connection: sqlite3.Connection, max_bytes: int, every: list[int]) -> None:
    for _ in range(_EACH_TIME * 2):
        if size_of(connection) <= max_bytes:
            return
        first_ms, last_ms = connection.execute(sql.SPAN).fetchone()
        if first_ms is None:
            return
        horizon_ms = first_ms + (last_ms - first_ms) // _EACH_TIME + 1
        connection.execute("BEGIN IMMEDIATE")
        for series in every:
            connection.execute(sql.FORGET_SAMPLES, (series, horizon_ms))
        connection.execute("COMMIT")
        connection.execute(sql.FORGET_LAYOUTS)
