"""The Iceberg table of a drain, through pyiceberg: made, written to, and read again.

A batch is one commit. Its summary says which drain and batch it is and which offsets it has, and a
property of the table, set by the same commit, which batch was the last: snapshots expire,
properties stay. So a batch that is in the table is not put there again.

Source: the Iceberg table specification, version 2.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from zkconsumer.drain.choosing import local_path, scheme_of
from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.footers import FileFooter
from zkconsumer.drain.local.table_columns import PLACE, with_place
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.proving.table_commits import Offsets, TableCommit
from zkconsumer.drain.storage import Storage
from zkconsumer.drain.table_name import DEFAULT_CATALOG, TableName
from zkconsumer.errors import ConfigError, DrainError, ZkConsumerError
from zkconsumer.model import OffsetRange

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
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from pyiceberg.utils.datetime import date_str_to_days

from zkconsumer.drain.local.iceberg_columns import lacking, leaf_numbers, numbered

OWN_CATALOG = "catalog.db"
"""The SQLite file of the drain's own catalog, at its path."""
DRAIN, BATCH, OFFSETS = "zkconsumer.drain", "zkconsumer.batch", "zkconsumer.offsets"
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
    # Each commit writes the table's description anew, all snapshots in it.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
_RETRIES = "commit.retry.num-retries"
_TRIES = 10
_SHOWN_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """What a reader of the table finds.

    Attributes:
        files: URIs of the data files.
        commits: those of the drain, of all snapshots that lead to the current one.
        is_whole: whether all snapshots since the first are there, none expired.
    """

    files: tuple[str, ...] = ()
    commits: tuple[TableCommit, ...] = ()
    is_whole: bool = True


class IcebergTable:
    """One drain's table. Thread: one at a time. All methods raise ``DrainError``.

    Args:
        name: which table, and whose catalog.
        storage: the drain's; the table's files are there, too.
        properties: of the catalog, beside what pyiceberg's configuration says of it.

    Raises:
        ConfigError: the drain's own catalog can't be where the storage is, or its library is not
            installed.
    """

    def __init__(
        self,
        name: TableName,
        storage: Storage,
        properties: Mapping[str, str],
    ) -> None:
        self._name = name
        self._storage = storage
        self._location = location_of(storage.uri(""))
        self._properties = dict(properties)
        if name.catalog is None and find_spec("sqlalchemy") is None:
            raise ConfigError(
                "a catalog of the drain's own needs SQLAlchemy: pip install 'zkconsumer[local]'"
            )
        if name.catalog is None and scheme_of(self._location) != "file":
            raise ConfigError(
                f"an Iceberg table at {self._location} needs a catalog, whose file can't be there: "
                "--catalog or --catalog-property"
            )

    def file_columns(self, drain: str, rows: pa.Schema = SCHEMA) -> pa.Schema:
        """The columns that a data file is to have, with the table's numbers of them.

        The table is made where there is none, and gets the columns that it lacks.

        Args:
            drain: the drain's id.
            rows: the columns of the file's rows.
        """
        columns = with_place(rows)
        with self._door():
            return numbered(columns, self._ready(drain, columns).schema())

    def append(
        self, drain: str, manifest: Manifest, footer: Callable[[LandedFile], FileFooter]
    ) -> None:
        """Make a batch visible, unless it is there.

        Args:
            drain: the drain's id.
            manifest: of the batch; its files are where they belong.
            footer: of one of these.
        """
        files: list[tuple[LandedFile, FileFooter]] | None = None
        with self._door():
            for _ in range(_TRIES):
                table = self._ready(drain)
                if _last_batch(table) >= manifest.number:
                    return
                if files is None:
                    files = [(file, footer(file)) for file in manifest.files]
                try:
                    self._commit(table, drain, manifest, files)
                except CommitFailedException:
                    # Another commit came between: perhaps of this very batch, so it is looked at.
                    continue
                return
        raise self._overtaken()

    def state(self, drain: str) -> TableState:
        """What a reader finds; nothing where there is no table.

        Args:
            drain: the drain's id.
        """
        with self._door():
            if self._name.catalog is None and self._storage.read(OWN_CATALOG) is None:
                return TableState()
            try:
                table = self._catalog.load_table(self._name.table)
            except (NoSuchTableError, NoSuchNamespaceError):
                return TableState()
            self._refuse_foreign(table, drain)
            files = tuple(self._files(table))
        snapshots = list(ancestors_of(table.current_snapshot(), table.metadata))
        return TableState(
            files=files,
            commits=tuple(_commits(snapshots, drain)),
            # Not by their parents: what expires one may take its name from its child.
            is_whole=not snapshots or snapshots[-1].sequence_number == 1,
        )

    def below(self, uri: str) -> str | None:
        """A data file's path below the drain's own; None where it is elsewhere."""
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

        file = local_path(self._storage.uri(OWN_CATALOG))
        synced = {"uri": f"sqlite:///{file}", "py-io-impl": _SYNCED}
        return SqlCatalog(DEFAULT_CATALOG, warehouse=self._location, **synced)

    def _ready(self, drain: str, columns: pa.Schema | None = None) -> Table:
        """The table as it is now, with these columns."""
        for _ in range(_TRIES):
            try:
                return self._grown(drain, columns)
            except CommitFailedException:
                # Another commit came between: perhaps one that added the same columns.
                continue
        raise self._overtaken()

    def _grown(self, drain: str, columns: pa.Schema | None) -> Table:
        try:
            table = self._catalog.load_table(self._name.table)
        except (NoSuchTableError, NoSuchNamespaceError):
            table = self._created(drain)
        self._refuse_foreign(table, drain)
        more = lacking(columns or pa.schema([]), table.schema())
        if len(more):
            with table.update_schema() as update:
                update.union_by_name(more)
        return table

    def _overtaken(self) -> DrainError:
        return DrainError(f"{self._what}: others change it all the time, {_TRIES} commits failed")

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
            raise DrainError(f"{self._what} is not this drain's: --table names another one")

    def _commit(
        self,
        table: Table,
        drain: str,
        manifest: Manifest,
        files: Iterable[tuple[LandedFile, FileFooter]],
    ) -> None:
        # Left to itself the library would repeat a commit behind another one of the same batch.
        table.metadata.properties[_RETRIES] = "0"
        number = str(manifest.number)
        ranges = (part.offsets for part in manifest.parts)
        summary = {DRAIN: drain, BATCH: number, OFFSETS: json.dumps(_offsets(ranges))}
        ids = leaf_numbers(table.schema())
        spec = table.metadata.default_spec_id
        with table.transaction() as transaction:
            transaction.set_properties({BATCH: number})
            with transaction.update_snapshot(summary).fast_append() as append:
                for file, footer in files:
                    append.append_data_file(self._data_file(file, footer, ids, spec))

    def _data_file(
        self, file: LandedFile, footer: FileFooter, ids: Mapping[str, int], spec: int
    ) -> DataFile:
        columns = {ids[name]: one for name, one in footer.columns.items() if name in ids}
        day = date_str_to_days(file.values["date"])
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{self._location}/{file.path}",
            file_format=FileFormat.PARQUET,
            partition=Record(file.values["topic"], day),
            record_count=footer.rows,
            file_size_in_bytes=file.size_bytes,
            column_sizes={at: one.size_bytes for at, one in columns.items()},
            value_counts={at: one.values for at, one in columns.items()},
            null_value_counts={
                at: one.nulls for at, one in columns.items() if one.nulls is not None
            },
            nan_value_counts={},
            lower_bounds={at: one.least for at, one in columns.items() if one.least is not None},
            upper_bounds={at: one.most for at, one in columns.items() if one.most is not None},
            key_metadata=None,
            split_offsets=list(footer.groups),
            equality_ids=None,
            sort_order_id=None,
            spec_id=spec,
        )

    def _files(self, table: Table) -> Iterator[str]:
        for task in table.scan().plan_files():
            if task.delete_files:
                raise DrainError(
                    f"{self._what} has been given deletes by somebody else, with which its files "
                    "alone do not tell what readers see: drain verify can't tell whether "
                    "everything is there"
                )
            yield task.file.file_path

    @contextmanager
    def _door(self) -> Iterator[None]:
        """Turn what pyiceberg raises into a ``DrainError``."""
        try:
            yield
        except ZkConsumerError:
            raise
        except Exception as error:  # what it and its libraries raise has no common base
            message = " ".join(str(error).split())[:_SHOWN_CHARS]
            raise DrainError(f"{self._what}: {message or type(error).__name__}") from error


def location_of(uri: str) -> str:
    """A path or URI of a storage as tables have it: absolute, with a scheme."""
    if uri.startswith("s3a://"):
        return "s3://" + uri.removeprefix("s3a://")
    if uri.startswith("/"):
        return f"file://{uri}".rstrip("/")
    if uri.startswith("file:") and not uri.startswith("file://"):
        return f"file://{uri.removeprefix('file:')}".rstrip("/")
    return uri.rstrip("/")


def offsets_of(ranges: Iterable[OffsetRange]) -> Offsets:
    """Ranges as the table's snapshots have them."""
    return frozenset(
        (
            one.topic_partition.topic,
            one.topic_partition.partition,
            one.from_offset,
            one.until_offset,
        )
        for one in ranges
    )


def _offsets(ranges: Iterable[OffsetRange]) -> dict[str, JsonValue]:
    """``{"weblog": {"0": [100, 200]}}``."""
    found: dict[str, Any] = {}
    for topic, partition, begin, end in sorted(offsets_of(ranges)):
        found.setdefault(topic, {})[str(partition)] = [begin, end]
    return found


def _last_batch(table: Table) -> int:
    """The newest batch that the table has; 0 where it has none."""
    known = [table.properties.get(BATCH)]
    known += [_said(snapshot, BATCH) for snapshot in table.metadata.snapshots]
    return max((int(one) for one in known if one is not None and one.isdigit()), default=0)


def _said(snapshot: Snapshot, name: str) -> str | None:
    summary = snapshot.summary
    return None if summary is None else summary.additional_properties.get(name)


def _commits(snapshots: Iterable[Snapshot], drain: str) -> Iterator[TableCommit]:
    for snapshot in snapshots:
        number = _said(snapshot, BATCH)
        if _said(snapshot, DRAIN) == drain and number is not None and number.isdigit():
            yield TableCommit(int(number), _parsed(_said(snapshot, OFFSETS) or "{}"))


def _parsed(text: str) -> Offsets:
    """What ``_offsets`` wrote; nothing where somebody wrote something else."""
    try:
        return frozenset(
            (topic, int(partition), int(begin), int(end))
            for topic, partitions in json.loads(text).items()
            for partition, (begin, end) in partitions.items()
        )
    except (ValueError, TypeError, AttributeError):
        return frozenset()
