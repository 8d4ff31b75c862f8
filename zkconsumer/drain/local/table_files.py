"""Opens the data files of an Iceberg table with its catalog's settings, in any process."""

from contextlib import nullcontext
from typing import Any

import pyarrow as pa
from pyiceberg.io import FileIO

from zkconsumer.drain.local.data_files import Upload


class TableFiles:
    """The ``DataFiles`` of a table; can be pickled, for Spark's tasks.

    Args:
        files: opens the files, with the catalog's properties.
    """

    held_bytes = 0

    def __init__(self, files: FileIO, location: str) -> None:
        self._files = files
        self._location = location

    def output(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        # No other file has this name, so no lookup is needed.
        stream = self._files.new_output(self._uri(path)).create(overwrite=True)
        return pa.PythonFile(Upload(stream, nullcontext), mode="w")

    def keep(self, path: str) -> None:
        """See ``DataFiles``: closing has synced the file if the catalog's ``FileIO`` does that."""

    def input(self, path: str) -> pa.NativeFile:
        """See ``DataFiles``."""
        found: Any = self._files.new_input(self._uri(path)).open()
        return found if isinstance(found, pa.NativeFile) else pa.PythonFile(found, mode="r")

    def _uri(self, path: str) -> str:
        return f"{self._location}/{path}"
