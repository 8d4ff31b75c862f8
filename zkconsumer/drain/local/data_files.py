"""Opens data files for pyarrow: at a local path, or in a store through its client.

Errors of a store pass through pyarrow with their own class.
"""

import io
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from zkconsumer.drain.local.local_storage import make_folder, sync
from zkconsumer.drain.storage import Storage

_ErrorConversion = Callable[[], AbstractContextManager[None]]


class Upload(io.RawIOBase):
    """Wraps an upload as a Python file object, whose attribute ``closed`` pyarrow reads."""

    def __init__(self, writer: Any, converted_errors: _ErrorConversion) -> None:
        self._writer = writer
        self._converted_errors = converted_errors

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Append bytes."""
        view = memoryview(data).cast("B")
        with self._converted_errors():
            self._writer.write(view)
        return len(view)

    def close(self) -> None:
        """Complete the upload, which makes the object visible."""
        if not self.closed:
            super().close()
            with self._converted_errors():
                self._writer.close()


class Download(io.RawIOBase):
    """Wraps a download as a Python file object."""

    def __init__(self, reader: Any, converted_errors: _ErrorConversion) -> None:
        self._reader = reader
        self._converted_errors = converted_errors

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read at most ``size`` bytes."""
        with self._converted_errors():
            return bytes(self._reader.read(None if size < 0 else size))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position."""
        with self._converted_errors():
            return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        """Return the position."""
        with self._converted_errors():
            return int(self._reader.tell())


class StreamedStorage(Storage):
    """A store that is accessed through a client, and also opens data files. See ``DataFiles``.

    Data files are visible once complete. Thread: any.
    """

    held_bytes: int
    _what: str
    """The store's URI."""

    @abstractmethod
    def converted_errors(self, path: str) -> AbstractContextManager[None]:
        """Convert the client's exceptions to a ``DrainError`` that names the path."""

    @abstractmethod
    def writer(self, path: str) -> Any:
        """Open a new file, with ``write`` and ``close``; its folders are created."""

    @abstractmethod
    def reader(self, path: str) -> Any:
        """Open a file, with ``read``, ``seek`` and ``tell``."""

    def uri(self, path: str) -> str:
        """See ``Storage``."""
        return f"{self._what}/{path}" if path else self._what

    def output(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        converted_errors = partial(self.converted_errors, path)
        with converted_errors():
            return pa.PythonFile(Upload(self.writer(path), converted_errors), mode="w")

    def keep(self, path: str) -> None:
        """Do nothing, since files that the store has acknowledged are durable."""

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        converted_errors = partial(self.converted_errors, path)
        with converted_errors():
            return pa.PythonFile(Download(self.reader(path), converted_errors), mode="r")


class DataFiles(Protocol):
    """Opens files below a drain's path. Thread: any.

    Methods raise ``OSError``, or ``DrainError`` if a store fails.

    Attributes:
        held_bytes: the memory held by each file that is being written.
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
    """Opens data files of this machine. See ``DataFiles``."""

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
        sync(written)
        sync(written.parent)

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        return pa.OSFile(self._storage.uri(path), "rb")
