"""All SQL of the history. Pure text.

A sample is one row: a group at one moment, all of its partitions in ``body`` (see ``samples``). Of
older samples, only the worst of each interval is kept: a real sample, not an average. The intervals
become longer with age.
"""

from typing import Final

APPLICATION_ID: Final = 0x7A6B6373
"""Identifies our files: ``zkcs``."""

VERSION: Final = 1

SCHEMA: Final = (
    "CREATE TABLE series (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, group_id TEXT NOT NULL,"
    " UNIQUE (kind, group_id))",
    "CREATE TABLE layouts (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)",
    "CREATE TABLE samples (series INTEGER NOT NULL, at_ms INTEGER NOT NULL, lag INTEGER NOT NULL,"
    " layout INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (series, at_ms)) WITHOUT ROWID",
    "CREATE TABLE rebalances (series INTEGER NOT NULL, began_ms INTEGER NOT NULL, ended_ms INTEGER,"
    " moved INTEGER NOT NULL, reclaimed INTEGER NOT NULL, reasons TEXT NOT NULL,"
    " PRIMARY KEY (series, began_ms)) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)

ADD_SERIES: Final = "INSERT OR IGNORE INTO series (kind, group_id) VALUES (?, ?)"
FIND_SERIES: Final = "SELECT id FROM series WHERE kind = ? AND group_id = ?"
ALL_SERIES: Final = "SELECT id FROM series"

ADD_LAYOUT: Final = "INSERT OR IGNORE INTO layouts (body) VALUES (?)"
FIND_LAYOUT: Final = "SELECT id FROM layouts WHERE body = ?"
GET_LAST_LAYOUT: Final = (
    "SELECT body FROM layouts WHERE id ="
    " (SELECT layout FROM samples WHERE series = ? ORDER BY at_ms DESC LIMIT 1)"
)
GET_LAYOUT: Final = "SELECT body FROM layouts WHERE id = ?"

ADD_SAMPLE: Final = (
    "INSERT OR REPLACE INTO samples (series, at_ms, lag, layout, body) VALUES (?, ?, ?, ?, ?)"
)
PUT_REBALANCE: Final = (
    "INSERT OR REPLACE INTO rebalances (series, began_ms, ended_ms, moved, reclaimed, reasons)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)

# Intervals begin at multiples of their length, so that the same samples are chosen if a chart is
# drawn again a little later.
GET_SAMPLES: Final = (
    "SELECT s.at_ms, s.layout, s.body FROM samples AS s JOIN ("
    " SELECT at_ms, row_number() OVER"
    "  (PARTITION BY at_ms / :width_ms ORDER BY lag DESC, at_ms DESC) AS place"
    " FROM samples WHERE series = :series AND at_ms BETWEEN :since_ms AND :until_ms"
    ") AS chosen ON s.at_ms = chosen.at_ms"
    " WHERE s.series = :series AND chosen.place = 1 ORDER BY s.at_ms"
)
# Without the bodies, which are on overflow pages if they are large.
GET_TREND: Final = (
    "SELECT (at_ms - :since_ms) / :width_ms AS interval, max(lag) FROM samples"
    " WHERE series = :series AND at_ms >= :since_ms AND at_ms < :until_ms GROUP BY interval"
)
GET_REBALANCES: Final = (
    "SELECT began_ms, ended_ms, reasons, moved, reclaimed FROM rebalances"
    " WHERE series = ? AND began_ms >= ? ORDER BY began_ms"
)

THIN: Final = (
    "DELETE FROM samples WHERE series = :series AND at_ms >= :since_ms AND at_ms < :until_ms"
    " AND at_ms NOT IN (SELECT at_ms FROM ("
    "  SELECT at_ms, row_number() OVER"
    "   (PARTITION BY at_ms / :width_ms ORDER BY lag DESC, at_ms DESC) AS place"
    "  FROM samples WHERE series = :series AND at_ms >= :since_ms AND at_ms < :until_ms"
    " ) WHERE place = 1)"
)
FORGET_SAMPLES: Final = "DELETE FROM samples WHERE series = ? AND at_ms < ?"
FORGET_REBALANCES: Final = "DELETE FROM rebalances WHERE series = ? AND began_ms < ?"
FORGET_SERIES: Final = (
    "DELETE FROM series WHERE id NOT IN (SELECT series FROM samples)"
    " AND id NOT IN (SELECT series FROM rebalances)"
)
FORGET_LAYOUTS: Final = "DELETE FROM layouts WHERE id NOT IN (SELECT layout FROM samples)"
SPAN: Final = "SELECT min(at_ms), max(at_ms) FROM samples"
"""The time range of all samples."""
