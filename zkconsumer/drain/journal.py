"""A drain's own files: what it is, its plans, its manifests, what is staged. Pure."""

from collections.abc import Iterator

from zkconsumer.drain import layout
from zkconsumer.drain.identity import DrainIdentity, refuse_another
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.state import Held
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import ConfigError, DrainError

_LOOKS = 5
_SHOWN = 5
_NOT_READ_BY_SPARK = ("_", ".")


class BatchJournal:
    """Reads and writes these files. Every method raises ``DrainError`` as its storage does.

    Args:
        storage: where the drain is.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @property
    def path(self) -> str:
        """The drain's path, for people."""
        return self._storage.uri("").rstrip("/")

    def identity(self) -> DrainIdentity | None:
        """What drain this is; None where there is none yet."""
        data = self._storage.read(layout.IDENTITY)
        return None if data is None else DrainIdentity.from_bytes(self._file(layout.IDENTITY), data)

    def refuse_taken(self) -> None:
        """See that a new drain does not begin among files of somebody else.

        Raises:
            ConfigError: there are some; readers would take them for what was landed.
        """
        others = sorted(
            name for name in self._storage.names("") if not name.startswith(_NOT_READ_BY_SPARK)
        )
        if others and self.identity() is None:
            shown = ", ".join(others[:_SHOWN]) + (" and more" if len(others) > _SHOWN else "")
            raise ConfigError(
                f"--to (or --state): {self.path} is no drain, and holds {shown}: drain to an empty "
                "path, or a new one"
            )

    def begin(self, identity: DrainIdentity) -> DrainIdentity:
        """Write down what drain this is, or find it written down.

        Returns:
            What is written down: of an earlier run, where there was one.

        Raises:
            ConfigError: it is another drain that is written down.
        """
        if not self._storage.create(layout.IDENTITY, identity.to_bytes()):
            found = self.identity()
            if found is None:
                raise DrainError(f"{self._file(layout.IDENTITY)} came and went: try again")
            refuse_another(self.path, found, identity)
            return found
        return identity

    def held(self) -> Held:
        """Where the drain stands."""
        plans, landed = self._numbers()
        begun = self._storage.read(layout.IDENTITY) is not None
        if not begun and (plans or landed):
            raise DrainError(
                f"{self._file(layout.IDENTITY)} is missing, though there are plans or batches: "
                "restore it from a backup"
            )
        self._check_numbers(plans, landed)
        if not plans:
            return Held(begun=begun)
        last = plans[-1]
        return Held(
            begun=begun,
            plan=self.plan(last),
            manifest=self.manifest(last) if landed and landed[-1] == last else None,
            staged=bool(self._storage.names(layout.staging_folder(last))),
        )

    def _numbers(self) -> tuple[list[int], list[int]]:
        """The numbers of all plans and all batches, as they are at one moment.

        Raises:
            DrainError: somebody else lands batches as fast as they are looked at.
        """
        landed = layout.numbers_of_files(self._storage.names(layout.BATCHES))
        for _ in range(_LOOKS):
            before = landed
            plans = layout.numbers_of_files(self._storage.names(layout.PLANS))
            landed = layout.numbers_of_files(self._storage.names(layout.BATCHES))
            if landed == before:
                return plans, landed
        raise self._another(landed[-1])

    def _check_numbers(self, plans: list[int], landed: list[int]) -> None:
        """Every batch but the last must be landed, or files got lost."""
        wanted = list(range(1, len(plans) + 1))
        if plans != wanted or landed not in (wanted, wanted[:-1]):
            lost = sorted({*wanted, *plans} - set(plans)) or sorted({*wanted[:-1]} - set(landed))
            raise DrainError(
                f"{self.path}/_zkconsumer does not hold all plans and batches from 1 on (look at "
                f"{', '.join(map(layout.batch_name, lost[:10])) or 'the last ones'}): restore them "
                "from a backup; nothing was changed"
            )

    def plan(self, number: int) -> BatchPlan:
        """A plan that is known to be there."""
        path = layout.plan_file(number)
        return BatchPlan.from_bytes(self._file(path), self._known(path))

    def manifest(self, number: int) -> Manifest:
        """A manifest that is known to be there."""
        path = layout.manifest_file(number)
        return Manifest.from_bytes(self._file(path), self._known(path))

    def plans(self) -> Iterator[BatchPlan]:
        """All plans, in order."""
        for number in layout.numbers_of_files(self._storage.names(layout.PLANS)):
            yield self.plan(number)

    def manifests(self) -> Iterator[Manifest]:
        """All manifests, in order."""
        for number in layout.numbers_of_files(self._storage.names(layout.BATCHES)):
            yield self.manifest(number)

    def write_plan(self, plan: BatchPlan) -> None:
        """Make a plan the next batch.

        Raises:
            DrainError: somebody else made another one meanwhile.
        """
        if not self._storage.create(layout.plan_file(plan.number), plan.to_bytes()):
            raise self._another(plan.number)

    def start_attempt(self, number: int, attempt: str) -> None:
        """Leave a mark that a batch is being landed, until ``clean`` takes it away."""
        mark = f"{layout.attempt_folder(number, attempt)}/begun"
        name = attempt.encode()
        # It is ours where only the answer to a first try got lost.
        if not self._storage.create(mark, name) and self._storage.read(mark) != name:
            raise self._another(number)

    def write_manifest(self, manifest: Manifest) -> None:
        """Make a batch landed.

        Raises:
            DrainError: somebody else landed it meanwhile; then this attempt's files don't count.
        """
        if not self._storage.create(layout.manifest_file(manifest.number), manifest.to_bytes()):
            raise self._another(manifest.number)

    def clean(self, number: int) -> None:
        """Delete what is staged of this batch, and of those before it that came late."""
        for staged in layout.numbers_of_folders(self._storage.names(layout.STAGING)):
            if staged <= number:
                self._storage.delete(layout.staging_folder(staged))

    def _known(self, path: str) -> bytes:
        data = self._storage.read(path)
        if data is None:
            raise DrainError(f"{self._file(path)} was there and is gone: restore it from a backup")
        return data

    def _file(self, path: str) -> str:
        return f"{self.path}/{path}"

    def _another(self, number: int) -> DrainError:
        return DrainError(
            f"another drain works on {self.path}: batch {number} is its. Nothing is lost or "
            "doubled; let only one of them run"
        )
