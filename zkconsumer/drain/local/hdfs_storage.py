"""Keeps a drain and its data files in HDFS, without Spark or Java.

A file gets its name by a rename, which the NameNode refuses if the name is taken, so two drains
can't both commit a batch.

Addresses and credentials come from Hadoop's own settings (``HADOOP_CONF_DIR``, ``HADOOP_HOME``),
or the path; Kerberos tickets come from their cache.

Source: Hadoop 3.5 ``ClientProtocol.rename2``; hdfs-native 0.14.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from zkconsumer.drain.local.data_files import StreamedStorage
from zkconsumer.drain.storage import StoredFile, in_the_way, missing
from zkconsumer.errors import ConfigError, DrainError

if find_spec("hdfs_native") is None:
    raise ConfigError("hdfs:// needs hdfs-native: pip install 'zkconsumer[hdfs]'")

from hdfs_native import Client, FileReader, FileWriter

_SHOWN_CHARS = 500


class HdfsStorage(StreamedStorage):
    """Stores files in a folder of HDFS. See ``Storage``. Thread: any.

    Args:
        path: ``hdfs://host:port/folder``, ``hdfs://nameservice/folder`` or ``hdfs:///folder``.

    Raises:
        DrainError: the NameNode's address is not configured.
    """

    held_bytes = 4 << 20
    """The memory for packets of a file that no DataNode has acknowledged yet."""

    def __init__(self, path: str) -> None:
        address, slash, root = path.partition("://")[2].partition("/")
        self._root = f"{slash}{root}".rstrip("/")
        self._what = f"hdfs://{address}{self._root}"
        with self.converted_errors(""):
            self._client = Client(f"hdfs://{address}" if address else None)

    def read(self, path: str) -> bytes | None:
        """See ``Storage``."""
        with self.converted_errors(path):
            try:
                return bytes(self._client.read(self._at(path)).read())
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``."""
        target = self._at(path)
        folder, _, name = target.rpartition("/")
        aside = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
        with self.converted_errors(path):
            try:
                with self._client.create(aside) as file:
                    file.write(data)
                self._client.rename(aside, target)
            except (FileExistsError, FileNotFoundError):
                found = self.read(path)
                if found is None:
                    raise
                # An equal file is ours: it was created before, and only the response was lost.
                return bool(data) and found == data
            finally:
                self._client.delete(aside)
        return True

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        return [path.rpartition("/")[2] for path, _ in self._below(folder, recursive=False)]

    def files(self, folder: str) -> list[StoredFile]:
        """See ``Storage``."""
        skipped = len(self._at(folder)) + 1
        found = self._below(folder, recursive=True)
        return sorted(StoredFile(path[skipped:], size) for path, size in found if size is not None)

    def move(self, source: str, target: str) -> None:
        """See ``Storage``."""
        here, there = self._at(source), self._at(target)
        with self.converted_errors(source):
            self._client.mkdirs(there.rpartition("/")[0], create_parent=True)
            try:
                self._client.rename(here, there)
            except (FileExistsError, FileNotFoundError):
                left, moved = self._size(here), self._size(there)
                if moved is None:
                    raise missing(self.uri(source), self.uri(target)) from None
                if left is None:
                    return
                if left != moved:
                    raise in_the_way(self.uri(source), self.uri(target)) from None
                self._client.delete(here)

    def delete(self, folder: str) -> None:
        """See ``Storage``."""
        with self.converted_errors(folder):
            self._client.delete(self._at(folder), recursive=True)

    def reader(self, path: str) -> "_Ranges":
        """See ``StreamedStorage``."""
        return _Ranges(self._client.read(self._at(path)))

    def writer(self, path: str) -> FileWriter:
        """See ``StreamedStorage``."""
        return self._client.create(self._at(path))

    def _below(self, folder: str, *, recursive: bool) -> list[tuple[str, int | None]]:
        """Return paths in HDFS with the lengths of files; None for folders."""
        with self.converted_errors(folder):
            try:
                found = list(self._client.list_status(self._at(folder), recursive))
            except FileNotFoundError:
                return []
        return [(entry.path, None if entry.isdir else entry.length) for entry in found]

    def _size(self, at: str) -> int | None:
        try:
            return self._client.get_file_info(at).length
        except FileNotFoundError:
            return None

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root or "/"

    @contextmanager
    def converted_errors(self, path: str) -> Iterator[None]:
        """Convert the client's exceptions to a ``DrainError``: a failure isn't a missing file."""
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:
            # The first line is followed by the NameNode's stack trace.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            what = f"{self._what}, at {path!r}"
            raise DrainError(f"{what}: {lines[0][:_SHOWN_CHARS]}") from error


class _Ranges:
    """A reader that can seek past the end of its file, as Python's own files can."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._length = len(reader)
        self._position = 0

    def read(self, size: int | None) -> bytes:
        """Read at most ``size`` bytes; None reads the rest."""
        left = max(0, self._length - self._position)
        count = left if size is None else min(size, left)
        data = self._reader.read_range(self._position, count) if count else b""
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int) -> int:
        """Change the position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position
