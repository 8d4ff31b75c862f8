"""Keeps the file that records where messages were written, before offsets are committed.

Every committed offset is in the file, and every offset in the file is in the target. If a process
is killed between an acknowledgement and its line, the messages are in no line and are written
again; the proof counts the first copies as offsets without a line.
"""

import fcntl
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from zkconsumer.errors import ConfigError, MirrorError
from zkconsumer.mirror.landed import Line, from_line, to_line

_BLOCK_BYTES = 1 << 16
_MOST_OF_A_LINE = 1 << 26
_BEGIN = b'{"topic":'


class OffsetsFile:
    """Appends lines to an offsets file, for one process at a time. Thread: any.

    Args:
        path: the file; created if absent. An incomplete last line is removed.

    Raises:
        ConfigError: the file can't be opened, has other content, or is in use by another process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._unsynced = False
        self._failure: MirrorError | None = None
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise ConfigError(f"--offsets-file {path}: {error.strerror}") from error
        try:
            _lock(self._file, path)
            _cut_partial_line(path)
        except BaseException:
            self._file.close()
            raise

    def append(self, landed: Iterable[Line]) -> None:
        """Append lines; ``sync`` flushes them to disk.

        Raises:
            MirrorError: the disk failed; every later call raises, too, since a line is missing.
        """
        data = b"".join(map(to_line, landed))
        with self._lock:
            self._check()
            try:
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                raise self._failed(error) from error
            self._unsynced = True

    def sync(self) -> None:
        """Flush all lines to disk; called before their offsets are committed.

        Raises:
            MirrorError: the disk failed, now or when a line was written.
        """
        with self._lock:
            self._check()
            if not self._unsynced:
                return
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise self._failed(error) from error
            self._unsynced = False

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def _check(self) -> None:
        """Raise if a line is missing: its offsets must not be committed."""
        if self._failure is not None:
            raise self._failure

    def _failed(self, error: OSError) -> MirrorError:
        self._failure = MirrorError(
            f"--offsets-file {self._path}: {error.strerror}: the offsets that it lacks were not "
            "committed; free disk space and start again"
        )
        return self._failure


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ConfigError(
            f"--offsets-file {path}: another process writes to it ({error.strerror}): give "
            "each mirror a file of its own"
        ) from error


def _cut_partial_line(path: Path) -> None:
    """Remove an incomplete last line of an offsets file.

    Raises:
        ConfigError: the file has other content; it is left unchanged.
    """
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return
            _check_first_line(file.readline(_MOST_OF_A_LINE), path)
        _truncate_after_last_line(path)
    except OSError as error:
        raise ConfigError(f"--offsets-file {path}: {error.strerror}") from error


def _check_first_line(line: bytes, path: Path) -> None:
    whole = line.endswith(b"\n")
    begin = _BEGIN[: len(line)] if not whole else _BEGIN
    if line[: len(begin)] == begin:
        if not whole:
            return
        with suppress(MirrorError):
            from_line(line, "")
            return
    raise ConfigError(
        f"--offsets-file {path} exists, and is not an offsets file: it is left as it is; give "
        "another name"
    )


def _truncate_after_last_line(path: Path) -> None:
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        at = end
        while at > 0:
            start = max(0, at - _BLOCK_BYTES)
            file.seek(start)
            found = file.read(at - start).rfind(b"\n")
            if found >= 0:
                at = start + found + 1
                break
            at = start
        if at < end:
            file.truncate(at)


def read_offsets_file(path: Path) -> Iterator[Line]:
    """Yield the lines of an offsets file in order; skip an incomplete last one.

    Raises:
        ConfigError: it can't be read.
        MirrorError: it is malformed.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield from_line(line, f"{path}, line {number},")
    except OSError as error:
        raise ConfigError(f"--offsets-file {path}: {error.strerror}") from error
