"""Lands files: stages and counts them, then moves them to folders by topic and date."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.drain import layout
from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.manifest import LandedFile, LandedPart, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError
from zkconsumer.printable import listed

_FILES = "files"


class WrittenRows(NamedTuple):
    """The counts and files of the rows that a writer wrote.

    Attributes:
        parts: one for every range of the plan, in its order.
        paths: the paths of the counted files, below their folder; other files are not landed.
    """

    parts: tuple[LandedPart, ...]
    paths: Sequence[str]


class RowWriter(Protocol):
    """Reads a plan's ranges and writes them as files; each engine has its own."""

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """Write all rows, then count those in the files.

        Args:
            plan: the ranges to read.
            folder: a new folder below the storage's path; files go to ``topic=T/date=D`` in it, and
                dead letters to the same folders below ``layout.DEAD_LETTERS``.
        """
        ...


class FilesLanding:
    """Lands batches as files. See ``Landing``."""

    def __init__(self, storage: Storage, writer: RowWriter, clock: Clock | None = None) -> None:
        self._storage = storage
        self._writer = writer
        self._clock = clock or SystemClock()

    def prepare(self, plan: BatchPlan) -> dict[str, JsonValue]:
        """Return no notes: files need none."""
        del plan
        return {}

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Write the files into the attempt's own folder, which no other attempt uses."""
        folder = f"{layout.attempt_folder(plan.number, attempt)}/{_FILES}"
        parts, paths = self._writer.write(plan, folder)
        # Only counted files: an abandoned task may still write here.
        sizes = {file.path: file.size_bytes for file in self._storage.files(folder)}
        gone = sorted(set(paths) - sizes.keys())
        if gone:
            raise DrainError(
                f"batch {plan.number}: files were deleted below {self._storage.uri(folder)} "
                f"before they were landed: {listed(gone)}. Nothing was published; run the drain "
                "again"
            )
        found = [
            landed_file(plan.number, f"{attempt}/{_FILES}", path, sizes[path])
            for path in sorted(paths)
        ]
        return Manifest(
            number=plan.number,
            attempt=attempt,
            landed_ms=self._clock.wall_ms(),
            files=tuple(file for file in found if not is_dead(file.path)),
            parts=parts,
            dead_letters=tuple(file for file in found if is_dead(file.path)),
        )

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move every file that has not been moved yet."""
        del plan
        for file in (*manifest.files, *manifest.dead_letters):
            self._storage.move(f"{layout.staging_folder(manifest.number)}/{file.staged}", file.path)


def is_dead(path: str) -> bool:
    """Return whether a file below a batch's folder, or the drain's, holds dead letters."""
    return path.startswith(f"{layout.DEAD_LETTERS}/")


def has_rows(path: str) -> bool:
    """Return whether a file below a batch's folder holds rows; Spark writes markers there, too.

    A task that Spark abandoned may still be writing below ``_temporary``.
    """
    below = path.removeprefix(f"{layout.DEAD_LETTERS}/")
    return below.startswith("topic=") and not PurePosixPath(path).name.startswith(("_", "."))


def landed_file(number: int, folder: str, path: str, size_bytes: int) -> LandedFile:
    """Return a file of rows, with its final path.

    Args:
        number: the batch's number, which becomes part of the file's name.
        folder: the folder where it was written, below the batch's staging folder.
        path: its path below that: ``topic=T/date=D/part-00000-....parquet``, or the path of a file
            of dead letters.
        size_bytes: its length.
    """
    parts = PurePosixPath(path)
    values = dict(step.split("=", 1) for step in parts.parts[:-1] if "=" in step)
    name = f"part-{layout.batch_name(number)}-{parts.name.removeprefix('part-')}"
    return LandedFile(
        staged=f"{folder}/{path}",
        path=f"{parts.parent}/{name}",
        size_bytes=size_bytes,
        values={key: unquote(value) for key, value in values.items()},
    )
