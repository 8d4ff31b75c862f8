"""Lands messages in a Delta table: writes files as usual, then one entry of the table's log.

Readers of the table see a batch wholly or not at all. Each entry records the drain and the batch
(as an application transaction), so that no batch is added twice, and the batch's offsets (in
``userMetadata``), for the proof and for human readers. When the log expires, only the offsets are
lost.

Source: the Delta transaction protocol (``txn`` and ``commitInfo`` actions); the log is written by
``deltalake``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from zkconsumer.errors import ConfigError, DrainError

if find_spec("deltalake") is None:
    raise ConfigError("--format delta needs deltalake: pip install 'zkconsumer[delta]'")

from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.landing_files import FilesLanding, RowWriter
from zkconsumer.drain.local.columns import SCHEMA, with_partition_columns
from zkconsumer.drain.manifest import LandedFile, Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.delta_log import SUMMARY, delta_uri
from zkconsumer.drain.proving.table_commits import DRAIN, summary_of
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage

PARTITION_COLUMNS = ["topic", "date"]


class DeltaLanding(FilesLanding):
    """Lands batches in a Delta table. See ``Landing``.

    Args:
        storage: the drain's storage, which also holds the table.
        settings: the drain's settings; ``target_options`` are storage options of ``deltalake``.
        columns: returns the current Arrow schema of files; None: they have only the source's
            columns.
    """

    def __init__(
        self,
        storage: Storage,
        writer: RowWriter,
        settings: DrainSettings,
        *,
        columns: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(storage, writer)
        self._columns = columns or (lambda: SCHEMA)
        self._options: Mapping[str, str] = settings.target_options

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Move the files, then add them to the table's log, once."""
        super().publish(plan, manifest)
        drain = BatchJournal(self._storage).drain_id()
        try:
            self._note(drain, manifest)
        except (DeltaError, OSError) as error:
            raise DrainError(
                f"the Delta table at {self._storage.uri('')}: batch {manifest.number} could not "
                f"be committed to its log ({error}); the batch is landed, and the next run commits "
                "it"
            ) from error

    def _note(self, drain: str, manifest: Manifest) -> None:
        where = delta_uri(self._storage.uri(""))
        options = dict(self._options)
        schema = _schema(self._columns())
        try:
            table = DeltaTable(where, storage_options=options)
        except TableNotFoundError:
            table = DeltaTable.create(
                where,
                schema=schema,
                partition_by=PARTITION_COLUMNS,
                mode="ignore",
                storage_options=options,
                commit_properties=_commit_properties({DRAIN: drain}),
            )
        application = f"zkconsumer-drain-{drain}"
        noted = table.transaction_version(application)
        if noted is not None and noted >= manifest.number:
            return
        missing = _missing(table.schema(), schema)
        if missing:
            # Appending with a schema leaves an existing table's columns as they are.
            table.alter.add_columns(missing)
        entry = Transaction(app_id=application, version=manifest.number, last_updated=None)
        ranges = (part.offsets for part in manifest.parts)
        table.create_write_transaction(
            [_added(file, self._clock.wall_ms()) for file in manifest.files],
            mode="append",
            schema=schema,
            partition_by=PARTITION_COLUMNS,
            commit_properties=_commit_properties(
                summary_of(drain, manifest.number, ranges), [entry]
            ),
        )


def _commit_properties(
    summary: Mapping[str, str], entries: Sequence[Transaction] = ()
) -> CommitProperties:
    """Return commit properties with a summary as ``userMetadata``, and application transactions."""
    return CommitProperties({SUMMARY: json.dumps(summary)}, app_transactions=list(entries))


def _schema(columns: Any = SCHEMA) -> Schema:
    """Return the table's schema: the source's columns, then those that an Arrow schema adds."""
    fields = {
        field.name: field
        for of_files in (with_partition_columns(), columns)
        for field in Schema.from_arrow(of_files).fields
    }
    return Schema(list(fields.values()))


def _missing(table: Schema, wanted: Schema) -> list[Field]:
    """Return the fields of a schema that a table lacks, wholly or in part."""
    there = _by_name(json.loads(table.to_json()))
    requested = _by_name(json.loads(wanted.to_json()))
    return [
        field
        for field in wanted.fields
        if field.name not in there or not _holds(there[field.name], requested[field.name])
    ]


def _holds(there: Any, wanted: Any) -> bool:
    """Return whether a type in Delta's JSON has all fields of another."""
    if not isinstance(there, dict) or not isinstance(wanted, dict):
        return True
    if wanted["type"] == "struct":
        known = _by_name(there)
        return all(
            name in known and _holds(known[name], kind) for name, kind in _by_name(wanted).items()
        )
    inner = "elementType" if wanted["type"] == "array" else "valueType"
    return _holds(there.get(inner), wanted[inner])


def _by_name(struct: Mapping[str, Any]) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in struct.get("fields", ())}


def _added(file: LandedFile, now_ms: int) -> AddAction:
    return AddAction(
        path=file.path,
        size=file.size_bytes,
        partition_values=dict(file.values),
        modification_time=now_ms,
        data_change=True,
        stats=json.dumps({}),
    )
