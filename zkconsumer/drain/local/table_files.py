"""Open the data files of an Iceberg table as its catalog says, in this process or another."""

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
from pyiceberg.io import FileIO

from zkconsumer.drain.local.data_files import Upload


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
        return pa.PythonFile(Upload(stream, nullcontext), mode="w")

    def keep(self, path: str) -> None:
        """See ``DataFiles``: done when it was closed, where the catalog's files do that."""

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        found: Any = self._files.new_input(self._uri(path)).open()
        return found if isinstance(found, pa.NativeFile) else pa.PythonFile(found, mode="r")

    def _uri(self, path: str) -> str:
        return f"{self._location}/{path}"
