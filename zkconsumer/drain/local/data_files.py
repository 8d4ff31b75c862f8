"""Interface between the local engine's file formats and file systems."""

from pathlib import Path
from typing import Protocol

import pyarrow as pa

from zkconsumer.drain.local.local_storage import make_folder, sync_file, sync_folder
from zkconsumer.drain.storage import Storage


class DataFiles(Protocol):
    """Opens files below a drain's path. Thread: any.

    Methods raise ``OSError``, or ``DrainError`` where a store fails.

    Attributes:
        held_bytes: memory held by each file that is being written.
    """

    held_bytes: int

    def output(self, path: str) -> pa.NativeFile:
        """Open a new file for writing."""
        ...

    def keep(self, path: str) -> None:
        """Make a written and closed file durable."""
        ...

    def input(self, path: str) -> pa.NativeFile:
        """Open an existing file for random access."""
        ...


class LocalFiles:
    """Data files of this machine. See ``DataFiles``."""

    held_bytes = 0

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def output(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        target = Path(self._storage.uri(path))
        make_folder(target.parent)
        return pa.OSFile(str(target), "wb")

    def keep(self, path: str) -> None:
        """See ``DataFiles``."""
        written = Path(self._storage.uri(path))
        sync_file(str(written))
        sync_folder(written.parent)

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        return pa.OSFile(self._storage.uri(path), "rb")
