"""Interface between a drain and file systems.

Paths are texts relative to the drain's own, with ``/`` between their parts.
"""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from zkconsumer.errors import DrainError


class StoredFile(NamedTuple):
    """A file: its path below the folder that was asked for, and its length."""

    path: str
    size_bytes: int


class Storage(Protocol):
    """A place to keep files. Thread: one at a time.

    Every method raises ``DrainError``, naming the path, where the place can't be reached or
    refuses. After that, and after a kill, what was asked for is done wholly or not at all; a
    ``delete`` may be done in part.
    """

    def uri(self, path: str) -> str:
        """Return the path as Spark takes it."""
        ...

    def read(self, path: str) -> bytes | None:
        """Read a whole file; None if there is none."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a whole file if there is none; else return False and change nothing.

        Nobody ever sees a part of it.
        """
        ...

    def hold(self, path: str) -> AbstractContextManager[bool]:
        """Hold a file until the context ends; false if another process holds it.

        True where the place knows of no such thing: a bucket, HDFS.
        """
        ...

    def names(self, folder: str) -> list[str]:
        """List a folder's direct entries, in any order; empty if it does not exist."""
        ...

    def files(self, folder: str) -> list[StoredFile]:
        """List all files below a folder, sorted by path."""
        ...

    def move(self, source: str, target: str) -> None:
        """Move a file to an unused path. A move that was interrupted before is completed.

        Raises:
            DrainError: it is neither here nor there, or another file is there; or see above.
        """
        ...

    def delete(self, folder: str) -> None:
        """Delete a folder with everything in it, if it exists."""
        ...


def missing(source: str, target: str) -> DrainError:
    """Return the error for a landed file missing at both its staged and its final path."""
    return DrainError(
        f"{source} is gone, and {target} is not there: somebody deleted a landed file. Restore it "
        "at one of the two, or drain anew to another path"
    )


def in_the_way(source: str, target: str) -> DrainError:
    """Return the error for a foreign file at a landed one's path."""
    return DrainError(
        f"{target} is there, and is another file than {source}, which belongs there: move it away"
    )
