"""Keeps the history small: old samples are thinned out, then deleted."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import size_of

UPKEEP_MS: Final = 600_000
"""The interval between two runs."""
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
_EACH_TIME: Final = 10
"""The share of its time range that a file that is too large loses per run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The retention of samples.

    Attributes:
        days: how long to keep samples.
        all_ms: samples younger than this are all kept.
        minutes_ms: of those younger than this one per minute is kept, of older ones one per hour.
        max_bytes: the maximum size of the file; then the oldest samples are deleted.
    """

    days: int = 14
    all_ms: int = 2 * HOUR_MS
    minutes_ms: int = 2 * DAY_MS
    max_bytes: int = 1 << 30


def keep_up(connection: sqlite3.Connection, keep: Keep, now_ms: int) -> None:
    """Apply the retention, in a transaction per group, so that others can write between.

    Raises:
        sqlite3.Error: it failed; a later run may succeed.
    """
    horizon_ms = now_ms - keep.days * DAY_MS
    # Limits are aligned to whole intervals, so that repeated runs keep the same samples.
    minutes_from_ms = (now_ms - keep.minutes_ms) // HOUR_MS * HOUR_MS
    all_from_ms = (now_ms - keep.all_ms) // MINUTE_MS * MINUTE_MS
    every = [series for (series,) in connection.execute(sql.ALL_SERIES).fetchall()]
    for series in every:
        connection.execute("BEGIN IMMEDIATE")
        _forget(connection, series, horizon_ms)
        _thin(connection, series, horizon_ms, minutes_from_ms, HOUR_MS)
        _thin(connection, series, minutes_from_ms, all_from_ms, MINUTE_MS)
        connection.execute("COMMIT")
    _fit(connection, keep.max_bytes, every)
    connection.execute(sql.FORGET_SERIES)
    connection.execute(sql.FORGET_LAYOUTS)
    # Each step frees one page; only a script is run to its end.
    connection.executescript("PRAGMA incremental_vacuum")


def _forget(connection: sqlite3.Connection, series: int, horizon_ms: int) -> None:
    connection.execute(sql.FORGET_SAMPLES, (series, horizon_ms))
    connection.execute(sql.FORGET_REBALANCES, (series, horizon_ms))


def _thin(
    connection: sqlite3.Connection, series: int, since_ms: int, until_ms: int, width_ms: int
) -> None:
    """Keep the worst sample of each interval."""
    values = {
        "series": series,
        "since_ms": since_ms,
        "until_ms": until_ms,
        "width_ms": width_ms,
    }
    connection.execute(sql.THIN, values)


def _fit(connection: sqlite3.Connection, max_bytes: int, every: list[int]) -> None:
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
