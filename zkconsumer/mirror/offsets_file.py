"""The offsets file on disk: what was acknowledged where, on disk before it is committed.

What is committed is in the file; what is in the file is in the target. A process that is killed
between an acknowledgement and its line leaves messages that are in no line: they come again, and
the proof counts them among the copies.
"""

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from zkconsumer.errors import ConfigError, MirrorError
from zkconsumer.mirror.landed import Landed, from_line, to_line

_BLOCK_BYTES = 1 << 16


class OffsetsFile:
    """Open for appending; one process at a time. Thread: any.

    Args:
        path: the file; made where there is none. A last line that a kill cut off is removed.

    Raises:
        ConfigError: it can't be opened, or another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._unsynced = False
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise ConfigError(f"--offsets-file {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _cut_torn_line(path)
        except OSError as error:
            self._file.close()
            raise ConfigError(
                f"--offsets-file {path}: another process writes to it ({error.strerror}): give "
                "each mirror a file of its own"
            ) from error

    def append(self, landed: Iterable[Landed]) -> None:
        """Write lines; they may not be on disk yet.

        Raises:
            MirrorError: the disk is full, or gone.
        """
        data = b"".join(map(to_line, landed))
        with self._lock:
            try:
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) :]
            except OSError as error:
                raise self._failed(error) from error
            self._unsynced = True

    def sync(self) -> None:
        """Have all lines on disk; called before what they say is committed.

        Raises:
            MirrorError: the disk is full, or gone.
        """
        with self._lock:
            if not self._unsynced:
                return
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise self._failed(error) from error
            self._unsynced = False

    def close(self) -> None:
        """Close it. Idempotent."""
        self._file.close()

    def _failed(self, error: OSError) -> MirrorError:
        return MirrorError(
            f"--offsets-file {self._path}: {error.strerror}: nothing was committed of what it "
            "lacks; make room and start again"
        )


def _cut_torn_line(path: Path) -> None:
    """Remove what stands behind the last line end."""
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


def read_offsets_file(path: Path) -> Iterator[Landed]:
    """Its lines, in their order; a last one that is cut off is left out.

    Raises:
        ConfigError: it can't be read.
        MirrorError: it is damaged.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield from_line(line, f"{path}, line {number},")
    except OSError as error:
        raise ConfigError(f"--offsets-file {path}: {error.strerror}") from error
