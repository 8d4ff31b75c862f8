"""The undo file of ``zkconsumer doctor --fix``, which is on disk before each write."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from zkconsumer.cli.files import read_text, whole_file
from zkconsumer.errors import ConfigError
from zkconsumer.status.doctor.fix import Write
from zkconsumer.status.doctor.undo import UndoRecord, decode_undo, encode_undo


class UndoFile:
    """The undo file of a run, which is rewritten as a whole for every repair.

    Args:
        name: the name of the file; None: one with the time, in the current folder.
        zookeeper: the cluster.
        made_ms: the time, in ms since the epoch.
    """

    def __init__(self, name: str | None, *, zookeeper: str, made_ms: int) -> None:
        self.path = Path(name or _default_name(made_ms))
        self._zookeeper = zookeeper
        self._made_ms = made_ms
        self._writes: tuple[Write, ...] = ()

    @property
    def holds_anything(self) -> bool:
        """Whether there is anything to undo, and therefore a file."""
        return bool(self._writes)

    def add(self, writes: Sequence[Write]) -> None:
        """Record writes on disk, before they are done.

        Raises:
            ConfigError: a file of that name exists already.
            OSError: the file can't be written.
        """
        if not self._writes and os.path.lexists(self.path):
            raise ConfigError(f"{self.path} exists already: name another file with --undo-file")
        self._write((*self._writes, *writes))

    def drop(self, writes: Sequence[Write]) -> None:
        """Remove writes that were not done after all.

        Raises:
            OSError: the file can't be written; its former content is intact.
        """
        if writes:
            self._write(tuple(write for write in self._writes if write not in writes))

    def _write(self, writes: tuple[Write, ...]) -> None:
        if not writes:
            self.path.unlink(missing_ok=True)
            self._writes = ()
            return
        record = UndoRecord(zookeeper=self._zookeeper, made_ms=self._made_ms, writes=writes)
        with whole_file(str(self.path), follows_links=False) as file:
            file.write(encode_undo(record).encode())
        self._writes = writes


def read_undo_file(name: str) -> UndoRecord:
    """Read an undo file.

    Raises:
        ConfigError: it is malformed.
        OSError: it can't be read.
    """
    return decode_undo(read_text(name, "undo file"), name)


def _default_name(made_ms: int) -> str:
    time = datetime.fromtimestamp(made_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"doctor-undo-{time}.json"
