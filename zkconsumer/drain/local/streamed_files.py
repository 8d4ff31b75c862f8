"""Let pyarrow write and read files by the clients of stores, whose failures keep their names."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

_Door = Callable[[], AbstractContextManager[None]]


class Upload(io.RawIOBase):
    """An upload as a Python file object: pyarrow reads the attribute ``closed``."""

    def __init__(self, writer: Any, door: _Door) -> None:
        self._writer = writer
        self._door = door

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Append."""
        view = memoryview(data).cast("B")
        with self._door():
            self._writer.write(view)
        return len(view)

    def close(self) -> None:
        """Complete the upload: the object is visible from now on."""
        if not self.closed:
            super().close()
            with self._door():
                self._writer.close()


class Download(io.RawIOBase):
    """A download as a Python file object."""

    def __init__(self, reader: Any, door: _Door) -> None:
        self._reader = reader
        self._door = door

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read at most so many bytes."""
        with self._door():
            return bytes(self._reader.read(None if size < 0 else size))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Change the position."""
        with self._door():
            return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        """Return the position."""
        with self._door():
            return int(self._reader.tell())
