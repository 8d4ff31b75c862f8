"""Reads and writes a drain's own files: identity, plans, manifests, staged files. Pure."""

from collections.abc import Iterator
from contextlib import contextmanager

from zkconsumer.drain import layout
from zkconsumer.drain.identity import DrainIdentity, refuse_another
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.state import JournalState
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import ConfigError, DrainError

_ATTEMPTS = 5
_SHOWN = 5
_NOT_READ_BY_SPARK = ("_", ".")


class BatchJournal:
    """Reads and writes a drain's own files. Methods raise ``DrainError`` as the storage does."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @property
    def path(self) -> str:
        """The drain's path, for messages."""
        return self._storage.uri("").rstrip("/")

    def identity(self) -> DrainIdentity | None:
        """Read the drain's identity; return None if there is none yet."""
        data = self._storage.read(layout.IDENTITY)
        return None if data is None else DrainIdentity.from_bytes(self._file(layout.IDENTITY), data)

    def drain_id(self) -> str:
        """Return the id of the drain.

        Raises:
            DrainError: the identity file is missing.
        """
        identity = self.identity()
        if identity is None:
            raise DrainError(f"{self.path}: the drain's identity is gone")
        return identity.id

    def refuse_taken(self) -> None:
        """Refuse to begin a new drain in a folder with foreign files.

        Raises:
            ConfigError: there are foreign files, which readers would take for landed files.
        """
        others = sorted(
            name for name in self._storage.names("") if not name.startswith(_NOT_READ_BY_SPARK)
        )
        if others and self.identity() is None:
            shown = ", ".join(others[:_SHOWN]) + (" and more" if len(others) > _SHOWN else "")
            raise ConfigError(
                f"--to (or --state): {self.path} holds no drain, but other files ({shown}): drain "
                "to an empty path, or a new one"
            )

    def begin(self, identity: DrainIdentity, attempt: str) -> None:
        """Write the drain's identity unless there is one.

        Args:
            identity: the identity according to this run's settings.
            attempt: see ``probe``.

        Raises:
            ConfigError: the stored identity is another drain's, or see ``probe``.
        """
        found = self.identity()
        if found is not None:
            refuse_another(self.path, found, identity)
        self.probe(attempt)
        if found is None and not self._storage.create(layout.IDENTITY, identity.to_bytes()):
            found = self.identity()
            if found is None:
                raise DrainError(
                    f"{self._file(layout.IDENTITY)} was created and deleted by another process: "
                    "try again"
                )
            refuse_another(self.path, found, identity)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the drain against other processes until the context ends, if the storage has locks.

        Raises:
            DrainError: another process has locked it.
        """
        with self._storage.hold(layout.IDENTITY) as is_ours:
            if not is_ours:
                raise DrainError(
                    f"another drain is running on {self.path}: its process has locked "
                    f"{self._file(layout.IDENTITY)}. Nothing was done; run only one of them"
                )
            yield

    def probe(self, attempt: str) -> None:
        """Check that the store refuses to create an existing file; delete the test file.

        Args:
            attempt: a name of letters and digits that no other run has.

        Raises:
            ConfigError: the store replaces the file, so two drains would replace each other's
                batches.
        """
        folder = f"{layout.PROBES}/{attempt}"
        self._storage.create(f"{folder}/probe", b"1")
        replaced = self._storage.create(f"{folder}/probe", b"2")
        self._storage.delete(folder)
        if replaced:
            raise ConfigError(
                f"--to (or --state): {self.path}: the store replaces an existing file although it "
                "is asked to create it only if absent (in a bucket: it ignores If-None-Match), so "
                "two drains there would replace each other's batches: drain to another store"
            )

    def read_state(self) -> JournalState:
        """Read the stored state of the drain."""
        plans, landed = self._numbers()
        begun = self._storage.read(layout.IDENTITY) is not None
        if not begun and (plans or landed):
            raise DrainError(
                f"{self._file(layout.IDENTITY)} is missing, although plans or batches exist: "
                "restore it from a backup"
            )
        self._check_numbers(plans, landed)
        if not plans:
            return JournalState(begun=begun)
        last = plans[-1]
        return JournalState(
            begun=begun,
            plan=self.plan(last),
            manifest=self.manifest(last) if landed and landed[-1] == last else None,
            staged=bool(self._storage.names(layout.staging_folder(last))),
        )

    def _numbers(self) -> tuple[list[int], list[int]]:
        """List the numbers of all plans and all batches, at one point in time.

        Raises:
            DrainError: another process lands batches faster than they can be listed.
        """
        landed = layout.numbers_of_files(self._storage.names(layout.BATCHES))
        for _ in range(_ATTEMPTS):
            before = landed
            plans = layout.numbers_of_files(self._storage.names(layout.PLANS))
            landed = layout.numbers_of_files(self._storage.names(layout.BATCHES))
            if landed == before:
                return plans, landed
        raise self._another(landed[-1])

    def _check_numbers(self, plans: list[int], landed: list[int]) -> None:
        """Check that every batch but the last is landed, since otherwise files were lost."""
        wanted = list(range(1, len(plans) + 1))
        if plans != wanted or landed not in (wanted, wanted[:-1]):
            lost = sorted({*wanted, *plans} - set(plans)) or sorted({*wanted[:-1]} - set(landed))
            raise DrainError(
                f"plans or batches are missing in {self.path}/_zkconsumer "
                f"({', '.join(map(layout.batch_name, lost[:10])) or 'the last ones'}): restore "
                "them from a backup; nothing was changed"
            )

    def plan(self, number: int) -> BatchPlan:
        """Read a plan that exists."""
        path = layout.plan_file(number)
        return BatchPlan.from_bytes(self._file(path), self._known(path))

    def manifest(self, number: int) -> Manifest:
        """Read a manifest that exists."""
        path = layout.manifest_file(number)
        return Manifest.from_bytes(self._file(path), self._known(path))

    def manifests(self) -> Iterator[Manifest]:
        """Read all manifests, in order."""
        for number in layout.numbers_of_files(self._storage.names(layout.BATCHES)):
            yield self.manifest(number)

    def write_plan(self, plan: BatchPlan) -> None:
        """Write the plan of the next batch.

        Raises:
            DrainError: another process wrote a plan of this number.
        """
        if not self._storage.create(layout.plan_file(plan.number), plan.to_bytes()):
            raise self._another(plan.number)

    def start_attempt(self, number: int, attempt: str) -> None:
        """Mark a batch as being landed, until ``clean`` removes the mark."""
        mark = f"{layout.attempt_folder(number, attempt)}/begun"
        name = attempt.encode()
        # A mark with our name is ours: it was created before, and only the response was lost.
        if not self._storage.create(mark, name) and self._storage.read(mark) != name:
            raise self._another(number)

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest, which commits a batch.

        Raises:
            DrainError: another process landed the batch, so that this attempt's files don't count.
        """
        if not self._storage.create(layout.manifest_file(manifest.number), manifest.to_bytes()):
            raise self._another(manifest.number)

    def refuse_landed(self, number: int, error: DrainError) -> None:
        """Raise an error if another process landed the batch of a failed attempt.

        Args:
            number: the number of the batch.
            error: the failure of the attempt: the other process deletes the staged files of all
                attempts.

        Raises:
            DrainError: another process landed it.
        """
        if self._storage.read(layout.manifest_file(number)) is not None:
            raise self._another(number) from error

    def clean(self, number: int) -> None:
        """Delete the staged files of a batch, and late files of earlier batches."""
        for staged in layout.numbers_of_folders(self._storage.names(layout.STAGING)):
            if staged <= number:
                self._storage.delete(layout.staging_folder(staged))

    def _known(self, path: str) -> bytes:
        data = self._storage.read(path)
        if data is None:
            raise DrainError(f"{self._file(path)} was deleted: restore it from a backup")
        return data

    def _file(self, path: str) -> str:
        return f"{self.path}/{path}"

    def _another(self, number: int) -> DrainError:
        return DrainError(
            f"another drain is running on {self.path}: it has taken batch {number}. No message is "
            "lost or duplicated; run only one of them"
        )
