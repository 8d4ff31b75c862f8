"""Keeps a drain in a local folder, without Spark.

It works like Hadoop's local file system, so that both engines can use one folder: a file gets its
name by a link, which never replaces a file. In addition, acknowledged writes are synced.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from zkconsumer.drain.choosing import local_path
from zkconsumer.drain.file_lock import held_file
from zkconsumer.drain.storage import StoredFile, in_the_way, missing
from zkconsumer.errors import DrainError


class LocalStorage:
    """Stores files in a local folder. See ``Storage``.

    Args:
        path: a folder, or a ``file:`` URI; it need not exist.
    """

    def __init__(self, path: str) -> None:
        self._base = Path(os.path.abspath(local_path(path)))
        self._what = path

    def uri(self, path: str) -> str:
        """See ``Storage``."""
        return str(self._base / path)

    def read(self, path: str) -> bytes | None:
        """See ``Storage``."""
        with self._converted_errors(path):
            try:
                return (self._base / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``."""
        target = self._base / path
        with self._converted_errors(path):
            if target.exists():
                return False
            make_folder(target.parent)
            aside = target.parent / f".{target.name}.{uuid.uuid4().hex}.tmp"
            try:
                with aside.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(aside, target)
            except FileExistsError:
                return False
            finally:
                aside.unlink(missing_ok=True)
            sync(target.parent)
        return True

    def hold(self, path: str) -> AbstractContextManager[bool]:
        """See ``Storage``."""
        return held_file(self._base / path)

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        with self._converted_errors(folder):
            try:
                return os.listdir(self._base / folder)
            except (FileNotFoundError, NotADirectoryError):
                return []

    def files(self, folder: str) -> list[StoredFile]:
        """See ``Storage``."""
        root = self._base / folder
        found = []
        with self._converted_errors(folder):
            for path in root.rglob("*"):
                if path.is_file():
                    below = path.relative_to(root).as_posix()
                    found.append(StoredFile(below, path.stat().st_size))
            if root.is_file():
                found.append(StoredFile("", root.stat().st_size))
        return sorted(found)

    def move(self, source: str, target: str) -> None:
        """See ``Storage``."""
        here, there = self._base / source, self._base / target
        with self._converted_errors(source):
            if here.exists():
                make_folder(there.parent)
                with suppress(FileExistsError):
                    os.link(here, there)
            if not there.exists():
                raise missing(self.uri(source), self.uri(target))
            sync(there.parent)
            if here.exists():
                # Left by a move that was killed between the link and this; otherwise the target is
                # a foreign file.
                if not here.samefile(there) and here.stat().st_size != there.stat().st_size:
                    raise in_the_way(self.uri(source), self.uri(target))
                here.unlink(missing_ok=True)

    def delete(self, folder: str) -> None:
        """See ``Storage``."""
        with self._converted_errors(folder), suppress(FileNotFoundError):
            shutil.rmtree(self._base / folder)

    @contextmanager
    def _converted_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DrainError(f"{self._what}, at {path!r}: {error}") from error


def make_folder(path: Path) -> None:
    """Create and sync a folder and its missing parents."""
    made = []
    while not path.exists():
        made.append(path)
        path = path.parent
    for folder in reversed(made):
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def sync(path: Path) -> None:
    """Sync a file's contents, or a folder's entries, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
