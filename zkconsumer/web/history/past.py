"""Reads the history for pages and charts."""

import json
import logging
import sqlite3
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from zkconsumer.model import TopicPartition
from zkconsumer.repeats import Repeats
from zkconsumer.status.model import GroupKey
from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import reading
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.history.samples import StoredSample, parse_layout, series_of
from zkconsumer.web.state import LagSeries, PastRebalance

log = logging.getLogger(__name__)

NUMBERS: Final = 800_000
"""The maximum number of partitions times samples in a chart: a second of work."""
LEAST_POINTS: Final = 20
_ABOUT: Final = "reading the history"
_UNREADABLE: Final = (
    *(sqlite3.Error, zlib.error, ValueError, TypeError, OverflowError, RecursionError),
)
"""The errors that a read may raise if another program has written to the file."""


class RecordedPast:
    """Reads the history of this run and earlier ones; a ``Past``. Thread: any.

    Every query has a connection of its own: readers wait neither for the writer nor for each other.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._repeats = Repeats(log)

    @property
    def problem(self) -> str | None:
        """Why nothing is recorded now; None if all is well."""
        return self._recorder.problem

    def lag_series(self, key: GroupKey, since_ms: int, until_ms: int, points: int) -> LagSeries:
        """Return the lag of a group between two instants, in about ``points`` samples at most."""
        try:
            rows = _rows(self._recorder.path, key, since_ms, until_ms, points)
            series = series_of(rows)
        except _UNREADABLE as error:
            self._repeats.happened(_ABOUT, f"the history of {key} can't be read: {error}")
            return LagSeries(problem=f"the history can't be read: {error}")
        return replace(series, problem=self.problem)

    def trends(
        self, keys: Collection[GroupKey], since_ms: int, until_ms: int, points: int
    ) -> dict[GroupKey, tuple[int | None, ...]]:
        """Return the largest lag of groups in each of ``points`` equal intervals; None: unknown.

        Groups without samples are omitted.
        """
        width_ms = max(1, (until_ms - since_ms) // points)
        values = {"since_ms": since_ms, "width_ms": width_ms}
        found: dict[GroupKey, tuple[int | None, ...]] = {}
        try:
            with reading(self._recorder.path) as connection:
                for key in keys:
                    series = _series(connection, key)
                    until = {"series": series, "until_ms": since_ms + points * width_ms}
                    rows = connection.execute(sql.GET_TREND, {**values, **until}).fetchall()
                    lags = {int(point): int(lag) for point, lag in rows}
                    if lags:
                        found[key] = tuple(lags.get(point) for point in range(points))
        except _UNREADABLE as error:
            self._repeats.happened(_ABOUT, f"the history can't be read: {error}")
        return found

    def rebalances(self, key: GroupKey, since_ms: int) -> tuple[PastRebalance, ...]:
        """Return the rebalances that began since then, the oldest first; empty if unreadable."""
        try:
            with reading(self._recorder.path) as connection:
                series = _series(connection, key)
                if series is None:
                    return ()
                rows = connection.execute(sql.GET_REBALANCES, (series, since_ms)).fetchall()
            return tuple(
                PastRebalance(
                    began_ms=int(began_ms),
                    ended_ms=None if ended_ms is None else int(ended_ms),
                    reasons=tuple(map(str, json.loads(reasons))),
                    moved=int(moved),
                    reclaimed=int(reclaimed),
                )
                for began_ms, ended_ms, reasons, moved, reclaimed in rows
            )
        except _UNREADABLE as error:
            self._repeats.happened(_ABOUT, f"the history of {key} can't be read: {error}")
            return ()


def _rows(
    path: Path, key: GroupKey, since_ms: int, until_ms: int, points: int
) -> list[StoredSample]:
    with reading(path) as connection:
        # One transaction, so that concurrent writes don't affect the result.
        connection.execute("BEGIN")
        series = _series(connection, key)
        if series is None:
            return []
        most = max(LEAST_POINTS, NUMBERS // max(1, _width(connection, series)))
        width_ms = max(1, -(-(until_ms - since_ms) // max(1, min(points, most))))
        values = {"since_ms": since_ms, "until_ms": until_ms, "width_ms": width_ms}
        layouts: dict[int, tuple[TopicPartition, ...]] = {}
        rows: list[StoredSample] = []
        for at_ms, layout, body in connection.execute(
            sql.GET_SAMPLES, {**values, "series": series}
        ).fetchall():
            if layout not in layouts:
                (text,) = connection.execute(sql.GET_LAYOUT, (layout,)).fetchone()
                layouts[layout] = parse_layout(text)
            rows.append(StoredSample(int(at_ms), layouts[layout], body))
        return rows


def _width(connection: sqlite3.Connection, series: int) -> int:
    """Return the number of partitions in the group's last sample."""
    found = connection.execute(sql.GET_LAST_LAYOUT, (series,)).fetchone()
    return 0 if found is None else len(parse_layout(found[0]))


def _series(connection: sqlite3.Connection, key: GroupKey) -> int | None:
    found = connection.execute(sql.FIND_SERIES, (str(key.kind), key.group_id)).fetchone()
    return None if found is None else found[0]
