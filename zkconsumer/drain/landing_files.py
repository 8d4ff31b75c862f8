"""Land files: staged, counted, then moved to their folders by topic and date."""

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import unquote

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.drain import layout
from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.manifest import LandedFile, LandedPart, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage

_FILES = "files"


class RowWriter(Protocol):
    """Reads a plan's ranges and writes them as files; each engine has its own."""

    def write(self, plan: BatchPlan, folder: str) -> tuple[LandedPart, ...]:
        """Write everything, and count what was written, from the files.

        Args:
            plan: what to read.
            folder: a new one, below the storage's path; files go to ``topic=T/date=D`` in it, and
                dead letters to the same below ``layout.DEAD_LETTERS`` in it.

        Returns:
            One part for every range of the plan, in its order.
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
        parts = self._writer.write(plan, folder)
        found: list[LandedFile | None] = []
        dead: list[LandedFile | None] = []
        below = f"{layout.DEAD_LETTERS}/"
        for file in self._storage.files(folder):
            is_dead = file.path.startswith(below)
            staged = f"{attempt}/{_FILES}{'/' + layout.DEAD_LETTERS if is_dead else ''}"
            path = file.path.removeprefix(below)
            (dead if is_dead else found).append(
                landed_file(plan.number, staged, path, file.size_bytes)
            )
        return Manifest(
            number=plan.number,
            attempt=attempt,
            landed_ms=self._clock.wall_ms(),
            files=tuple(file for file in found if file is not None),
            parts=parts,
            dead_letters=tuple(
                replace(file, path=below + file.path) for file in dead if file is not None
            ),
        )

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move every file that is not moved yet."""
        del plan
        for file in (*manifest.files, *manifest.dead_letters):
            self._storage.move(f"{layout.staging_folder(manifest.number)}/{file.staged}", file.path)


def landed_file(number: int, folder: str, path: str, size_bytes: int) -> LandedFile | None:
    """Return a file that Spark wrote, with its final path; None for Spark's markers.

    A task that Spark gave up on may still be writing, below ``_temporary``.

    Args:
        number: the batch's, which becomes part of the file's name.
        folder: where it was written, below the batch's staging folder.
        path: below that: ``topic=T/date=D/part-00000-....parquet``.
        size_bytes: its length.
    """
    parts = PurePosixPath(path)
    if parts.name.startswith(("_", ".")) or not path.startswith("topic="):
        return None
    values = dict(step.split("=", 1) for step in parts.parts[:-1])
    name = f"part-{layout.batch_name(number)}-{parts.name.removeprefix('part-')}"
    return LandedFile(
        staged=f"{folder}/{path}",
        path=f"{parts.parent}/{name}",
        size_bytes=size_bytes,
        values={key: unquote(value) for key, value in values.items()},
    )
