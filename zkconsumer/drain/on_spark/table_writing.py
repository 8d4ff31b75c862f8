"""Writes an Iceberg table's files in Spark's tasks, with the code of the local engine.

Spark's own Parquet writer can neither set the field ids of elements of lists and maps, nor keep
topic and date in the files; readers of the table need both.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB
from zkconsumer.drain.local.columns import as_columns
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.table_files import TableFiles
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage

_TASKS = "_tasks"
"""The folder of all tasks' files; only files of completed tasks are moved out of it."""


class TableWriting:
    """Writes files of a drain's table. Thread: one at a time."""

    def __init__(self, table: IcebergTable, storage: Storage) -> None:
        self._table = table
        self._storage = storage

    def save(self, plan: BatchPlan, rows: DataFrame, columns: pa.Schema, folder: str) -> None:
        """Write files below a folder.

        Args:
            plan: the plan of the rows.
            rows: rows with these columns and the topic.
            columns: the columns of the files, except topic and date.
            folder: a new folder below the drain's path.
        """
        numbered = self._table.file_columns(columns)
        below = f"{folder}/{_TASKS}"
        task = FileTask(self._table.files(), below, plan.created_ms, columns, numbered)
        written = rows.mapInArrow(task.write, "path string").collect()
        for (path,) in written:
            self._storage.move(path, folder + path.removeprefix(below))


@dataclass(frozen=True)
class FileTask:
    """Writes the files of a task, on any executor.

    Attributes:
        files: opens the files.
        folder: the folder below the table's location.
        created_ms: the creation time of the plan.
        columns: the columns of the rows.
        numbered: the columns of the files, with field ids.
    """

    files: TableFiles
    folder: str
    created_ms: int
    columns: pa.Schema
    numbered: pa.Schema

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all rows; yield the paths of the completed files."""
        written: list[str] = []
        topic, dated = None, None
        for batch in batches:
            topics = batch.column("topic")
            for name in pc.unique(topics).to_pylist():
                if dated is None or name != topic:
                    written += [] if dated is None else dated.close()
                    topic, dated = name, self._dated(name)
                rows = batch.filter(pc.equal(topics, name))
                dated.write(as_columns(rows, self.columns))
        written += [] if dated is None else dated.close()
        yield pa.RecordBatch.from_arrays([pa.array(written, pa.string())], names=["path"])

    def _dated(self, topic: str) -> DatedFiles:
        context = TaskContext.get()
        naming = FileNaming(
            folder=self.folder,
            topic=topic,
            task=0 if context is None else context.partitionId(),
            file_format="parquet",
            created_ms=self.created_ms,
            file_columns=lambda _: self.numbered,
        )
        return DatedFiles(self.files, naming, Shares.of(DEFAULT_MEMORY_MB, 1))
