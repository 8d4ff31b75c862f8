"""Compares the current files of a landing with its manifests.

The files that any reader of the landing would see are read, not those in the manifests: a file that
no batch recorded shows up as duplicates, and a deleted file as a gap.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from zkconsumer.drain.manifest import LandedFile
from zkconsumer.drain.storage import Storage, StoredFile
from zkconsumer.printable import listed

_OF_BATCH = re.compile(r"part-([0-9]{10,})-")
_OF_DAY = re.compile(r"topic=[^/]+/date=[^/]+/[^/]+")
_OF_TABLE = re.compile(r"(?:data/)?topic=[^/]+/date=[^/]+/[^/]+")
"""Maintenance of an Iceberg table writes files below its folder ``data``."""


@dataclass(frozen=True, slots=True)
class LandedFiles:
    """The files to read, and the problems found.

    Attributes:
        readable: paths of data files, below the drain's.
        problems: contradictions between files and manifests, one sentence each.
    """

    readable: tuple[str, ...]
    problems: tuple[str, ...]


def compare_files(
    noted: Mapping[str, LandedFile], stored: Iterable[StoredFile], *, since: Collection[int]
) -> LandedFiles:
    """Compare the existing files with those in the manifests.

    Args:
        noted: the recorded files of all batches to verify.
        stored: all files below the drain's path.
        since: the numbers of batches that are not verified, because they are not wholly published,
            or were landed later: their files don't count.
    """
    visible = {
        path: size
        for path, size in stored
        if _visible(path) and (path in noted or not is_of(path, since))
    }
    missing = [path for path in noted if path not in visible]
    resized = [
        f"{path} has {visible[path]} bytes, and {file.size_bytes} were landed"
        for path, file in noted.items()
        if path in visible and visible[path] != file.size_bytes
    ]
    foreign = [path for path in visible if path not in noted]
    problems = [
        *described("files of the landing are missing", missing),
        *described("files are not as they were landed", resized),
        *described("files are there that no batch landed", foreign),
    ]
    # Files in other folders are foreign; Spark could not derive their topic and date either.
    readable = tuple(path for path in visible if _OF_DAY.fullmatch(path))
    return LandedFiles(readable, tuple(problems))


def table_files(noted: Iterable[str], stored: Iterable[StoredFile], kind: str) -> LandedFiles:
    """Compare the files that a Delta or Iceberg table names with those that exist.

    Maintenance may have rewritten the table's rows to other files. So only rows prove what is
    landed; but a file that the table names must exist.
    """
    there = {file.path for file in stored}
    named = list(noted)
    missing = [path for path in named if path not in there]
    readable = tuple(path for path in named if path in there)
    return LandedFiles(
        readable, tuple(described(f"files of the {kind} table are missing", missing))
    )


def _visible(path: str) -> bool:
    """Return whether readers see a file; they skip names that begin with ``_`` or ``.``."""
    return not any(part.startswith(("_", ".")) for part in PurePosixPath(path).parts)


def is_of(path: str, batches: Collection[int]) -> bool:
    """Return whether a file is named for one of these batches.

    Other programs' names are similar, with fewer digits: ``part-00007-...``.
    """
    number = _OF_BATCH.match(PurePosixPath(path).name)
    return number is not None and int(number[1]) in batches


def is_of_table(path: str) -> bool:
    """Return whether a file's path has topic and date, as those of a table's files do."""
    return _OF_TABLE.fullmatch(path) is not None


def visible_files(storage: Storage) -> list[StoredFile]:
    """Return all files that readers may see.

    Other folders are not listed: while a drain runs, folders appear and disappear below
    ``_zkconsumer``, and listing one that disappears is an error.
    """
    return [
        StoredFile(f"{name}/{file.path}".rstrip("/"), file.size_bytes)
        for name in storage.names("")
        if _visible(name)
        for file in storage.files(name)
    ]


def described(what: str, which: list[str]) -> list[str]:
    """Return a sentence about some files; none if there are none."""
    return [f"{len(which)} {what}: {listed(sorted(which), separator='; ')}"] if which else []
