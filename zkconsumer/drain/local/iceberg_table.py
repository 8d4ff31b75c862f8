"""Creates, writes and reads the Iceberg table of a drain, through pyiceberg.

A batch is one commit, whose summary identifies it (``iceberg_commits``), so that no batch is added
twice.

Source: the Iceberg table specification, version 2.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import Any, TypeVar

from zkconsumer.backoff import Backoff
from zkconsumer.drain.choosing import local_path, scheme_of
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.local.columns import PLACE, SCHEMA, with_partition_columns
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.proving.table_commits import BATCH, DRAIN, TableState, summary_of
from zkconsumer.drain.storage import Storage
from zkconsumer.drain.table_name import DEFAULT_CATALOG, TableName, refuse_hdfs
from zkconsumer.errors import ConfigError, DrainError, ZkConsumerError
from zkconsumer.scope import wait_ms

if find_spec("pyiceberg") is None:
    raise ConfigError("an Iceberg table needs pyiceberg: pip install 'zkconsumer[local]'")

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from zkconsumer.drain.local.catalog_secrets import configured, without_secrets
from zkconsumer.drain.local.iceberg_columns import missing, numbered
from zkconsumer.drain.local.iceberg_commits import (
    commits_of,
    is_whole,
    last_batch,
    snapshots_of,
)
from zkconsumer.drain.local.iceberg_partitions import is_elsewhere, partition_of, spec_of
from zkconsumer.drain.local.table_files import TableFiles

R = TypeVar("R")
Footer = Callable[[LandedFile, Mapping[str, int]], Mapping[str, Any]]
"""Returns the statistics in a landed file's footer; see ``read_footer``."""

OWN_CATALOG = "catalog.db"
"""The SQLite file of the drain's own catalog, at its path."""
_TYPES = {
    "key": BinaryType(),
    "value": BinaryType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestamptzType(),
    "timestampType": IntegerType(),
    "topic": StringType(),
    "date": DateType(),
}
_SYNCED = "zkconsumer.drain.local.synced_files.SyncedFiles"
_PROPERTIES = {
    "format-version": "2",
    # Each commit rewrites the table's metadata, with all snapshots.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
_RETRIES = "commit.retry.num-retries"
_TRIES = 10
_BACKOFF = Backoff(initial_ms=50, max_ms=2_000, jitter=1.0)
_SHOWN_CHARS = 2_000


class IcebergTable:
    """Creates, writes and reads a drain's table. Thread: one at a time.

    Every method raises ``DrainError`` on failure.

    Args:
        name: the names of table and catalog.
        storage: the drain's storage, which also holds its id and the table's files.
        properties: properties of the catalog, besides pyiceberg's configuration.
        pause: waits for a number of milliseconds before a commit is retried.

    Raises:
        ConfigError: the drain's own catalog can't be in this storage, or its library is not
            installed.
    """

    def __init__(
        self,
        name: TableName,
        storage: Storage,
        properties: Mapping[str, str],
        *,
        pause: Callable[[int], None] = wait_ms,
    ) -> None:
        self._name = name
        self._pause = pause
        self._storage = storage
        self._journal = BatchJournal(storage)
        self._location = location_of(storage.uri(""))
        refuse_hdfs(self._location)
        self._properties = dict(properties)
        if name.catalog is None and find_spec("sqlalchemy") is None:
            raise ConfigError(
                "a catalog of the drain's own needs SQLAlchemy: pip install 'zkconsumer[local]'"
            )
        odd = [sign for sign in "#?" if sign in self._location]
        if odd:
            # pyiceberg does not treat what follows as part of the path.
            raise ConfigError(
                f"an Iceberg table can't be at {self._location}: its path contains {odd[0]}"
            )
        if name.catalog is None and scheme_of(self._location) != "file":
            raise ConfigError(
                f"an Iceberg table at {self._location} needs a catalog, since the drain's own, "
                "an SQLite file, can't be there: give --catalog or --catalog-property"
            )

    def file_columns(self, rows: pa.Schema = SCHEMA) -> pa.Schema:
        """Return the columns of a data file, with the table's field ids.

        The table is created if there is none, and gets the columns that it lacks.
        """
        drain, columns = self._journal.drain_id(), with_partition_columns(rows)
        with self._converted_errors():
            table = self._tried(lambda: self._ready(drain, columns=columns))
            return numbered(columns, table.schema())

    def files(self) -> TableFiles:
        """Return the opener of the table's files, for any process; create the table if needed."""
        drain = self._journal.drain_id()
        with self._converted_errors():
            return TableFiles(self._tried(lambda: self._ready(drain)).io, self._location)

    def expect(self, number: int) -> None:
        """Refuse a batch, before it is read, if the table lacks earlier batches."""
        drain = self._journal.drain_id()
        if number > 1:
            with self._converted_errors():
                table = self._tried(lambda: self._ready(drain, number))
                self._refuse_loss(table, drain, number)

    def append(self, manifest: Manifest, footer: Footer) -> None:
        """Commit a batch's files, unless the table has them.

        Args:
            manifest: the batch's manifest; its files are at their final paths.
            footer: reads the footer of one of these files.
        """
        drain = self._journal.drain_id()
        entries: list[tuple[LandedFile, Mapping[str, Any]]] = []

        def append() -> None:
            # Another process may have committed this very batch, so the table is read each time.
            table = self._ready(drain, manifest.number)
            if last_batch(table.metadata, drain) >= manifest.number:
                return
            self._refuse_loss(table, drain, manifest.number)
            if not entries:
                ids = parquet_path_to_id_mapping(table.schema())
                entries.extend((file, footer(file, ids)) for file in manifest.files)
            self._commit(table, drain, manifest, entries)

        with self._converted_errors():
            self._tried(append)

    def state(self, drain: str) -> TableState:
        """Read the current state, with the URIs of files; it is empty if there is no table."""
        with self._converted_errors():
            if self._name.catalog is None and self._storage.read(OWN_CATALOG) is None:
                return TableState()
            try:
                table = self._catalog.load_table(self._name.table)
            except (NoSuchTableError, NoSuchNamespaceError):
                return TableState()
            self._refuse_foreign(table, drain)
            files = tuple(self._files(table))
            misplaced = tuple(self._misplaced(table, files))
        snapshots = snapshots_of(table.metadata)
        return TableState(
            files=tuple(file.file_path for file in files),
            misplaced=misplaced,
            commits=tuple(commits_of(snapshots, drain)),
            is_whole=is_whole(snapshots),
        )

    def below(self, uri: str) -> str | None:
        """Return a data file's path below the drain's own; None if it is elsewhere."""
        base = f"{self._location}/"
        at = location_of(uri)
        return at.removeprefix(base) if at.startswith(base) else None

    @property
    def _what(self) -> str:
        catalog = f"catalog {self._name.catalog}" if self._name.catalog else "its own catalog"
        return f"the Iceberg table {self._name.table} of {catalog} at {self._location}"

    @cached_property
    def _catalog(self) -> Catalog:
        if self._name.catalog is not None:
            return load_catalog(self._name.catalog, **self._properties)
        from pyiceberg.catalog.sql import SqlCatalog  # noqa: PLC0415 - loads much
        from sqlalchemy import URL  # noqa: PLC0415 - of the same extra

        file = local_path(self._storage.uri(OWN_CATALOG))
        # Not as text: some versions decode percent signs in a path, others don't.
        uri: Any = URL.create("sqlite", database=file)
        synced = {"uri": uri, "py-io-impl": _SYNCED}
        return SqlCatalog(DEFAULT_CATALOG, warehouse=self._location, **synced)

    def _tried(self, change: Callable[[], R]) -> R:
        """Run an operation; retry it after each conflict with another commit."""
        for attempt in range(_TRIES):
            if attempt:
                # Jitter: writers that conflicted once must not collide again.
                self._pause(_BACKOFF.delay_ms(attempt - 1, random.random()))  # noqa: S311
            try:
                return change()
            except CommitFailedException:
                continue
        raise DrainError(
            f"{self._what}: {_TRIES} commits failed, since other programs changed or locked the "
            "table each time"
        )

    def _ready(self, drain: str, number: int = 1, columns: pa.Schema | None = None) -> Table:
        """Load the table, with these columns; the first batch creates it."""
        try:
            table = self._catalog.load_table(self._name.table)
        except (NoSuchTableError, NoSuchNamespaceError):
            if number > 1:
                raise DrainError(self._lost(number, "is not there")) from None
            table = self._created(drain)
        self._refuse_foreign(table, drain)
        if spec_of(table.metadata) is None:
            raise DrainError(
                f"{self._what} has no partition spec of topic and date, untransformed, as the "
                "drain's files have: add one again (it need not be the current one), or drain to "
                "another table"
            )
        if columns is not None and len(more := missing(columns, table.schema())):
            with table.update_schema() as update:
                update.union_by_name(more)
        return table

    def _created(self, drain: str) -> Table:
        namespace = self._name.table.rpartition(".")[0]
        self._catalog.create_namespace_if_not_exists(namespace)
        fields = [
            NestedField(number, name, kind, required=False)
            for number, (name, kind) in enumerate(_TYPES.items(), 1)
        ]
        by = [
            PartitionField(list(_TYPES).index(name) + 1, 1000 + at, IdentityTransform(), name)
            for at, name in enumerate(PLACE.names)
        ]
        try:
            return self._catalog.create_table(
                self._name.table,
                Schema(*fields),
                location=self._location,
                partition_spec=PartitionSpec(*by),
                properties={**_PROPERTIES, DRAIN: drain},
            )
        except TableAlreadyExistsError:
            return self._catalog.load_table(self._name.table)

    def _refuse_foreign(self, table: Table, drain: str) -> None:
        if table.properties.get(DRAIN) != drain:
            raise DrainError(
                f"{self._what} belongs to another drain or program: name another one with --table"
            )

    def _refuse_loss(self, table: Table, drain: str, number: int) -> None:
        last = last_batch(table.metadata, drain)
        if last < number - 1:
            raise DrainError(self._lost(number, f"ends with batch {last}" if last else "has none"))

    def _lost(self, number: int, how: str) -> str:
        return (
            f"{self._what} {how}, but batch {number} is next: earlier batches were lost when the "
            "table or its catalog was deleted or rolled back, and adding this one would hide that. "
            f"Restore a snapshot of the table that has batch {number - 1} (the newest file in "
            "metadata/ can be registered in a catalog again), or drain to another path"
        )

    def _commit(
        self,
        table: Table,
        drain: str,
        manifest: Manifest,
        files: Iterable[tuple[LandedFile, Mapping[str, Any]]],
    ) -> None:
        spec = spec_of(table.metadata)
        assert spec is not None  # ``_ready`` has checked
        # Changed in memory only. By default the library would repeat a commit after another commit
        # of the same batch, and it writes all entries with the current spec, not their own.
        properties = {**table.metadata.properties, _RETRIES: "0"}
        changes = {"properties": properties, "default_spec_id": spec.spec_id}
        table.metadata = table.metadata.model_copy(update=changes)
        ranges = (part.offsets for part in manifest.parts)
        summary = summary_of(drain, manifest.number, ranges)
        with table.transaction() as transaction:
            transaction.set_properties({BATCH: summary[BATCH]})
            with transaction.update_snapshot(summary).fast_append() as append:
                for file, footer in files:
                    append.append_data_file(
                        DataFile.from_args(
                            content=DataFileContent.DATA,
                            file_path=f"{self._location}/{file.path}",
                            file_format=FileFormat.PARQUET,
                            partition=partition_of(spec, table.metadata, file.values),
                            file_size_in_bytes=file.size_bytes,
                            nan_value_counts={},
                            key_metadata=None,
                            equality_ids=None,
                            sort_order_id=None,
                            spec_id=spec.spec_id,
                            **footer,
                        )
                    )

    def _misplaced(self, table: Table, files: Iterable[DataFile]) -> Iterator[str]:
        for file in files:
            path = self.below(file.file_path)
            if path is not None and is_elsewhere(table.metadata, file, path):
                yield file.file_path

    def _files(self, table: Table) -> Iterator[DataFile]:
        for task in table.scan().plan_files():
            if task.delete_files:
                raise DrainError(
                    f"{self._what} has delete files of another program, so its data files alone do "
                    "not determine what readers see: drain verify can't verify it"
                )
            yield task.file

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert pyiceberg's exceptions to a ``DrainError``."""
        try:
            yield
        except ZkConsumerError:
            raise
        except Exception as error:  # noqa: BLE001 - what they raise has no common base
            known = {**configured(self._name.catalog), **self._properties}
            text = without_secrets(str(error)[: 10 * _SHOWN_CHARS], known)
            message = " ".join(text.split())[:_SHOWN_CHARS]
            # The exception is not chained as the cause: logging it would reveal the secrets.
            raise DrainError(f"{self._what}: {type(error).__name__}: {message}") from None


def location_of(uri: str) -> str:
    """Convert a storage's path or URI to the form that tables use: absolute, with a scheme."""
    if uri.startswith("s3a://"):
        return "s3://" + uri.removeprefix("s3a://")
    if uri.startswith("/"):
        return f"file://{uri}".rstrip("/")
    if uri.startswith("file:") and not uri.startswith("file://"):
        return f"file://{uri.removeprefix('file:')}".rstrip("/")
    return uri.rstrip("/")
