"""History files of the web interface, written by tests."""

import sqlite3
from pathlib import Path

from zkconsumer.web.history import statements as sql
from zkconsumer.web.history.database import open_for_writing


def history_with(path: Path, samples: list[tuple[int, int]]) -> sqlite3.Connection:
    """Write a history with samples (time, lag) of one group."""
    connection = open_for_writing(path)
    connection.execute(sql.ADD_SERIES, ("zookeeper", "g"))
    connection.execute(sql.ADD_LAYOUT, ("[]",))
    rows = [(1, at_ms, lag, 1, b"x" * 100) for at_ms, lag in samples]
    connection.executemany(sql.ADD_SAMPLE, rows)
    return connection
