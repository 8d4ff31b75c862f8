"""Keeps a drain and its data files in an S3 bucket, without Spark.

Objects are created only if absent (``If-None-Match``), so two drains can't both commit a batch.
A file is moved by copying and deleting it.

An object whose key ends with ``/`` is not a file, but a folder marker of Hadoop or the S3 console.
The client lists its path without the ``/``.

Address and credentials come from the ``AWS_*`` environment variables, as for other tools.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from zkconsumer.drain.local.data_files import StreamedStorage
from zkconsumer.drain.storage import StoredFile, in_the_way, missing
from zkconsumer.errors import ConfigError, DrainError

if find_spec("obstore") is None:
    raise ConfigError("s3:// needs obstore: pip install 'zkconsumer[local]'")

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

_PART_BYTES = 5 << 20
"""The minimum size that S3 accepts for all parts of an upload but the last."""
_READ_BYTES = 1 << 20
_SHOWN_CHARS = 500


class ObjectStorage(StreamedStorage):
    """Stores files below an S3 prefix. See ``Storage``.

    Args:
        path: ``s3://bucket/folder``.

    Raises:
        DrainError: the environment's settings can't be used.
    """

    held_bytes = _PART_BYTES

    def __init__(self, path: str) -> None:
        self._what = f"s3://{path.partition('://')[2].rstrip('/')}"
        with self.converted_errors(""):
            is_plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
            options: Any = {"allow_http": True} if is_plain else None
            self._store = S3Store.from_url(self._what, client_options=options)

    def read(self, path: str) -> bytes | None:
        """See ``Storage``."""
        with self.converted_errors(path):
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``."""
        with self.converted_errors(path):
            try:
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # An equal object is ours: it was created before, and only the response was lost.
                return bool(data) and self.read(path) == data
            return True

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        with self.converted_errors(folder):
            found = obstore.list_with_delimiter(self._store, prefix=folder or None)
            folders = [path.rstrip("/") for path in found["common_prefixes"]]
            filled = [path for path in folders if self._has_file(path)]
            paths = [*filled, *(entry["path"] for entry in found["objects"])]
        # A folder with a marker is listed among its own entries.
        return [path.rsplit("/", 1)[-1] for path in paths if path != folder]

    def files(self, folder: str) -> list[StoredFile]:
        """See ``Storage``."""
        skipped = len(folder) + 1 if folder else 0
        with self.converted_errors(folder):
            below = self._below(folder)
            folders = {path.rpartition("/")[0] for path, _ in below}
            return sorted(
                StoredFile(path[skipped:], size)
                for path, size in below
                # The marker of an empty folder is listed like an empty file, but its key differs.
                if size or (path not in folders and self._size(path) is not None)
            )

    def move(self, source: str, target: str) -> None:
        """See ``Storage``."""
        with self.converted_errors(source):
            here, there = self._size(source), self._size(target)
            if there is None:
                if here is None:
                    raise missing(self.uri(source), self.uri(target))
                obstore.copy(self._store, source, target)
            elif here is not None and here != there:
                raise in_the_way(self.uri(source), self.uri(target))
            if here is not None:
                obstore.delete(self._store, source)

    def delete(self, folder: str) -> None:
        """See ``Storage``."""
        with self.converted_errors(folder):
            paths = [path for path, _ in self._below(folder)]
            if paths:
                obstore.delete(self._store, paths)

    def writer(self, path: str) -> Any:
        """See ``StreamedStorage``."""
        return obstore.open_writer(self._store, path, buffer_size=_PART_BYTES, max_concurrency=2)

    def reader(self, path: str) -> Any:
        """See ``StreamedStorage``."""
        return obstore.open_reader(self._store, path, buffer_size=_READ_BYTES)

    def _below(self, folder: str) -> list[tuple[str, int]]:
        """Return path and length of all objects in a folder, folder markers included."""
        found = obstore.list(self._store, prefix=folder or None)
        entries = (entry for some in found for entry in some)
        return [(entry["path"], entry["size"]) for entry in entries if entry["path"] != folder]

    def _has_file(self, folder: str) -> bool:
        """Return whether a folder holds more than folder markers, which this client can't delete.

        Hadoop leaves a marker when it moves the last file out of a folder.
        """
        return any(
            entry["size"] or (entry["path"] != folder and self._size(entry["path"]) is not None)
            for page in obstore.list(self._store, prefix=folder)
            for entry in page
        )

    def _size(self, path: str) -> int | None:
        try:
            return int(obstore.head(self._store, path)["size"])
        except FileNotFoundError:
            return None

    @contextmanager
    def converted_errors(self, path: str) -> Iterator[None]:
        """Convert the client's exceptions to a ``DrainError``: a failure isn't a missing file."""
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            message = " ".join(str(error).split())[:_SHOWN_CHARS]
            what = f"{self._what}, at {path!r}"
            raise DrainError(f"{what}: {message or type(error).__name__}") from error
