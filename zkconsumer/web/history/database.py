"""Opens the history's file, and handles one that is damaged or belongs to another program."""

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.web.history.statements import APPLICATION_ID, SCHEMA, VERSION

log = logging.getLogger(__name__)

_BUSY_S: Final = 5.0
_LOG_BYTES: Final = 64 << 20
"""The size to which SQLite's write-ahead log is truncated."""
_VALUE_BYTES: Final = 64 << 20
"""The maximum size of a value: a million partitions take less."""
_HEADER_BYTES: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID_AT: Final = slice(68, 72)
"""The position of the application id in the header. Source: sqlite.org/fileformat.html, 1.3."""
_TABLES: Final = frozenset(statement for statement in SCHEMA if statement.startswith("CREATE"))
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class UnusableFile(sqlite3.DatabaseError):
    """The file is not a history of this version, whatever its header claims."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file is damaged, so that a retry can't help."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGED


def check_file(path: Path, *, ours: bool = False) -> None:
    """Check that a file is a history, or can become one.

    Args:
        path: the file.
        ours: whether it is the default file, not one that the user named: if it is not a history,
            it is renamed.

    Raises:
        ConfigError: it belongs to another program, and is left unchanged; or it can't be written.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a directory: name a file for the history")
    if path.exists() and not path.is_file():
        raise ConfigError(
            f"{path} is not a regular file: name another one for the history, or give --no-history"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"there is no directory {path.parent} to keep the history in")
    try:
        with path.open("a+b") as file:
            file.seek(0)
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise ConfigError(f"the history can't be kept in {path}: {error.strerror}") from error
    if header and not _is_ours(path, header):
        if not ours:
            raise ConfigError(
                f"{path} is not a history of zkconsumer, and is left unchanged: name another file"
            )
        aside = set_aside(path, time.time_ns() // 1_000_000)
        log.warning("%s is not a history: renamed it to %s, and started a new one", path, aside)


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection. Thread: any.

    Raises:
        sqlite3.Error: the file is missing, is not a history of this version, or can't be read.
    """
    with closing(_opened_to_read(path)) as connection:
        _distrust(connection)
        yield connection


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Return a connection for writing, with autocommit outside of explicit transactions.

    Raises:
        sqlite3.Error: the file can't be opened, or is not a history of this version.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    try:
        if _is_empty(connection):
            _create(connection)
        _distrust(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return a file's identity, which changes if another file takes its name; None if missing.

    Raises:
        OSError: the file's metadata can't be read.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


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


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(tables == version == 0)


def _create(connection: sqlite3.Connection) -> None:
    # Before switching to WAL, so that the header identifies the file at once.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("BEGIN IMMEDIATE")
    if _is_empty(connection):  # another program may have created it meanwhile
        for statement in SCHEMA:
            connection.execute(statement)
    connection.execute("COMMIT")


def _opened_to_read(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_S)


def _distrust(connection: sqlite3.Connection) -> None:
    """Check that the file holds only our tables: a view or a trigger could run any statement.

    Raises:
        UnusableFile: it holds something else, or tables of another version.
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_BYTES)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise UnusableFile(f"it has version {version}, but this program reads version {VERSION}")
    tables = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if sorted(sql for (sql,) in tables) != sorted(_TABLES):
        raise UnusableFile("it has tables that a history does not have")


def _is_ours(path: Path, header: bytes) -> bool:
    if not header.startswith(_MAGIC):
        return False
    if int.from_bytes(header[_APPLICATION_ID_AT], "big") == APPLICATION_ID:
        return True
    # If a power failure interrupted the creation of our file, it is still empty.
    try:
        with closing(_opened_to_read(path)) as connection:
            return _is_empty(connection)
    except sqlite3.Error:
        return False
