"""The interface between a drain and file systems.

Paths are strings relative to the drain's own path, with ``/`` between their parts.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

from zkconsumer.errors import DrainError


class StoredFile(NamedTuple):
    """A file: its path below the listed folder, and its length."""

    path: str
    size_bytes: int


class Storage(Protocol):
    """Stores a drain's files. Thread: one at a time.

    Every method raises ``DrainError``, naming the path, if the storage can't be reached or refuses.
    An operation that fails or is killed is done wholly or not at all; only a ``delete`` may be done
    in part.
    """

    def uri(self, path: str) -> str:
        """Return the path in Spark's form."""
        ...

    def read(self, path: str) -> bytes | None:
        """Read a whole file; return None if there is none."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a whole file if there is none; otherwise return False.

        The file appears as a whole.
        """
        ...

    def hold(self, path: str) -> AbstractContextManager[bool]:
        """Lock a file until the context ends; yield False if another process has locked it.

        Storages without locks (a bucket, HDFS: a lease would outlive its holder) yield True.
        """
        del path
        return nullcontext(enter_result=True)

    def names(self, folder: str) -> list[str]:
        """List a folder's direct entries, in any order; empty if it does not exist.

        Object stores have no folders without files: markers of such folders are not listed.
        """
        ...

    def files(self, folder: str) -> list[StoredFile]:
        """List all files below a folder, sorted by path."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file to an unused path; complete a move that was interrupted before.

        Raises:
            DrainError: the file is at neither path, or another file is at the target; or see above.
        """
        ...

    def delete(self, folder: str) -> None:
        """Delete a folder with everything in it, if it exists."""
        ...


def missing(source: str, target: str) -> DrainError:
    """Return the error for a landed file that is missing at its staged and its final path."""
    return DrainError(
        f"a landed file was deleted: neither {source} nor {target} exists. Restore it at one of "
        "the two paths, or start a new drain to another path"
    )


def in_the_way(source: str, target: str) -> DrainError:
    """Return the error for a foreign file at the path of a landed file."""
    return DrainError(
        f"{target} exists and differs from {source}, which is to be moved there: move the "
        "existing file away"
    )
