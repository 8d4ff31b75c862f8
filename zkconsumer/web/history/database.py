"""Opens the file of the history, and takes care of one that is damaged or somebody else's."""

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
"""Where the header has them. Source: sqlite.org/fileformat.html, section 1.3."""
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file itself is broken, so that trying again can't help."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED


def check_file(path: Path) -> None:
    """See that a file can be the history, or become it.

    Raises:
        ConfigError: it holds something else, which is not touched; or nothing can be written there.
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
    """A connection that only reads; of any thread.

    Raises:
        sqlite3.Error: the file is not there, or can't be read.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S)) as connection:
        yield connection


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Return a connection that writes, each statement by itself unless a transaction is begun.

    Raises:
        sqlite3.Error: it can't be opened.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            # Before the journal is a WAL, so that the header says at once whose file it is.
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
    """Rename a damaged file, with what belongs to it, so that a new one can take its place."""
    aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))
    return aside


def size_of(connection: sqlite3.Connection) -> int:
    """Return how many bytes of the file are in use."""
    pages, free, page_size = (
        connection.execute(f"PRAGMA {what}").fetchone()[0]
        for what in ("page_count", "freelist_count", "page_size")
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
    # A file that was being made when the power went has nothing in it yet.
    try:
        with reading(path) as connection:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        return False
    return bool(tables == 0)
