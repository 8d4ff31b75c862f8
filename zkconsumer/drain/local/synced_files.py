"""Syncs pyiceberg's local files before any file that refers to them is written.

A local drain acknowledges only data on disk, including the table's own files.
"""

from types import TracebackType

from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFileIO

from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.local_storage import LocalStorage


class SyncedFiles(PyArrowFileIO):
    """A syncing ``FileIO``, named by the property ``py-io-impl`` of the drain's catalog."""

    def new_output(self, location: str) -> OutputFile:  # type: ignore[override]
        """Return a file to write."""
        return _SyncedFile(super().new_output(location))


class _SyncedFile(OutputFile):
    def __init__(self, file: OutputFile) -> None:
        super().__init__(file.location)
        self._file = file

    def __len__(self) -> int:
        return len(self._file)

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self._file.exists()

    def to_input_file(self) -> InputFile:
        """Return the same file for reading."""
        return self._file.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: FBT001, FBT002 - the library's
        """Open the file for writing."""
        return _SyncedStream(self._file.create(overwrite), self.location)


class _SyncedStream(OutputStream):
    def __init__(self, stream: OutputStream, location: str) -> None:
        self._stream = stream
        self._location = location

    def write(self, b: bytes) -> int:
        """Append bytes."""
        return self._stream.write(b)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._stream.tell()

    def close(self) -> None:
        """Close and sync the file."""
        self._stream.close()
        folder, _, name = self._location.removeprefix("file://").rpartition("/")
        LocalFiles(LocalStorage(folder)).keep(name)

    def __enter__(self) -> "OutputStream":
        return self

    def __exit__(
        self,
        exctype: type[BaseException] | None,
        excinst: BaseException | None,
        exctb: TracebackType | None,
    ) -> None:
        if exctype is None:
            self.close()
        else:
            self._stream.close()  # nothing will refer to a file that was partly written
