"""Opens the history's file, and handles one that is damaged or of another program."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.web.history.statements import APPLICATION_ID, SCHEMA, VERSION

_BUSY_S: Final = 5.0
_MAGIC: Final = b"SQLite format 3\0"
_VERSION_AT: Final = slice(60, 64)
_APPLICATION_ID_AT: Final = slice(68, 72)
"""The position of the application id in the header. Source: sqlite.org/fileformat.html, 1.3."""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file is damaged, so that a retry can't help."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED


def check_file(path: Path) -> None:
    """Check that a file is a history, or can become one.

    Raises:
        ConfigError: it is of another program, and left alone; or it can't be written.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a directory: name a file for the history")
    if path.exists() and not path.is_file():
        raise ConfigError(
            f"{path} is no plain file: name another for the history, or say --no-history"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"there is no directory {path.parent} to keep the history in")
    try:
        with path.open("ab"):
            pass
        header = _head(path)
    except OSError as error:
        raise ConfigError(f"the history can't be kept in {path}: {error.strerror}") from error
    if header and not _is_ours(path, header):
        raise ConfigError(f"{path} is no history of zkconsumer: it stays as it is; name another")
    if int.from_bytes(header[_VERSION_AT], "big") > VERSION:
        raise ConfigError(f"{path} was written by a newer version of zkconsumer: name another")


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that only reads; of any thread.

    Raises:
        sqlite3.Error: the file is absent, or can't be read.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as connection:
        yield connection


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, with autocommit unless a transaction is begun.

    Raises:
        sqlite3.Error: it can't be opened.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            # Before switching to WAL, so that the header identifies the file at once.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged file and its companions, so that a new one can take its place."""
    aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))
    return aside


def size_of(connection: sqlite3.Connection) -> int:
    """Return the used size of the file in bytes."""
    pages, free, page_size = (
        connection.execute(f"PRAGMA {pragma}").fetchone()[0]
        for pragma in ("page_count", "freelist_count", "page_size")
    )
    used: int = (pages - free) * page_size
    return used


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _is_ours(path: Path, header: bytes) -> bool:
    if not header.startswith(_MAGIC):
        return False
    if int.from_bytes(header[_APPLICATION_ID_AT], "big") == APPLICATION_ID:
        return True
    # A file that was being created at a power failure is still empty.
    try:
        with reading(path) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        return False
    return bool(tables == 0)
