"""Open the data files of an Iceberg table as its catalog says, in this process or another."""

import io
from typing import Any

import pyarrow as pa
from pyiceberg.io import FileIO, OutputStream


class TableFiles:
    """Data files of a table. See ``DataFiles``. Can be pickled: tasks of Spark write by it.

    Args:
        files: opens them; has the catalog's properties.
    """

    held_bytes = 0

    def __init__(self, files: FileIO, location: str) -> None:
        self._files = files
        self._location = location

    def output(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        # No other has this name, so it need not be looked for.
        stream = self._files.new_output(self._uri(path)).create(overwrite=True)
        return pa.PythonFile(_Output(stream), mode="w")

    def keep(self, path: str) -> None:
        """See ``DataFiles``: done when it was closed, where the catalog's files do that."""

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        found: Any = self._files.new_input(self._uri(path)).open()
        return found if isinstance(found, pa.NativeFile) else pa.PythonFile(found, mode="r")

    def _uri(self, path: str) -> str:
        return f"{self._location}/{path}"


class _Output(io.RawIOBase):
    """A stream of pyiceberg's as a Python file object."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream
        self._written = 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Append."""
        size = memoryview(data).nbytes
        self._stream.write(bytes(data))
        self._written += size
        return size

    def tell(self) -> int:
        """Return the bytes written."""
        return self._written

    def close(self) -> None:
        """Complete the file."""
        if not self.closed:
            super().close()
            self._stream.close()
