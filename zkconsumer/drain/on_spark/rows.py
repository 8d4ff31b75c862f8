"""Reads a plan's ranges through Spark, writes them as files, and counts the rows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from zkconsumer.drain.engine import Ends
from zkconsumer.drain.fields import range_options
from zkconsumer.drain.holes import PartitionRuns, Ranges, absences
from zkconsumer.drain.landing_files import WrittenRows, has_rows, is_dead
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.dated_files import DAY_US, LAST_DAY
from zkconsumer.drain.manifest import LandedPart, landed_parts
from zkconsumer.drain.on_spark.decoding import BatchDecoding
from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.drain.on_spark.landed import read_files
from zkconsumer.drain.on_spark.offset_runs import found_runs
from zkconsumer.drain.on_spark.sums import contents_by_partition
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage
from zkconsumer.model import OffsetRange
from zkconsumer.spark.programs import read_as

if TYPE_CHECKING:
    from zkconsumer.drain.on_spark.table_writing import TableWriting

RECORDS_PER_FILE = 1_000_000
_FORMATS: Mapping[str, Mapping[str, str]] = {
    "parquet": {},
    "json": {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "timeZone": "UTC"},
}
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Otherwise Spark would sort all messages by topic and date, though they are in that order.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
}

_DIVIDING = frozenset({"minpartitions", "maxrecordsperpartition"})
"""Options of the source that spread one range over several tasks."""


def drain_session(session: SparkSession) -> SparkSession:
    """Open a session of the same application, with a drain's settings."""
    own = session.newSession()
    for key, value in _SETTINGS.items():
        own.conf.set(key, value)
    return own


class SparkRangeRows:
    """Reads exact ranges of a cluster.

    Args:
        options: the options of the source, without topics, start and end.
    """

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        self.session = session
        self._options = dict(options)

    def read(self, ranges: Sequence[OffsetRange], *, divided: bool = True) -> DataFrame:
        """Read ranges, with the source's columns.

        Args:
            ranges: at most one per partition.
            divided: whether to read large ranges in several tasks; otherwise each range is read by
                one task, in order, regardless of the options.
        """
        wanted = {
            range_.topic_partition: (range_.from_offset, range_.until_offset) for range_ in ranges
        }
        dividing = {}
        given = {name.lower() for name in self._options}
        if divided:
            usual = {
                "minPartitions": str(self.session.sparkContext.defaultParallelism),
                "maxRecordsPerPartition": str(RECORDS_PER_FILE),
            }
            dividing = {name: of for name, of in usual.items() if name.lower() not in given}
        options = {
            name: of
            for name, of in self._options.items()
            if divided or name.lower() not in _DIVIDING
        }
        return read_as(self.session, {**dividing, **options, **range_options(wanted)})


def count_rows(
    rows: SparkRangeRows,
    ends: Ends,
    plan: BatchPlan,
    landed: DataFrame,
    dead: DataFrame | None = None,
) -> tuple[LandedPart, ...]:
    """Count the landed rows of a plan, and explain missing offsets.

    Args:
        rows: reads ranges again if offsets are missing.
        ends: reads log starts and ends from the cluster.
        plan: the plan of the batch.
        landed: all landed rows, with the source's columns.
        dead: those of them that are dead letters; None: there are none.

    Returns:
        One part for every range of the plan, in its order.

    Raises:
        DrainError: the cluster has messages that were not landed.
    """

    def runs_again(doubtful: Ranges) -> PartitionRuns:
        return _runs_of(rows.read(list(doubtful.values())), doubtful)

    with described_by_spark(f"batch {plan.number}"):
        contents = contents_by_partition(landed)
        readings = (partial(_runs_of, landed), runs_again)
        absent = absences(plan.ranges, contents, readings, ends)
        letters = {} if dead is None else contents_by_partition(dead)
    return landed_parts(plan, contents, absent, letters)


class SparkWriter:
    """Writes files with Spark jobs. See ``RowWriter``.

    Args:
        file_format: ``parquet`` or ``json``.
        decoding: decodes values; None: rows are landed unchanged.
        table: writes files of a table; None: there is no table, and Spark writes the files.
    """

    def __init__(
        self,
        rows: SparkRangeRows,
        ends: Ends,
        storage: Storage,
        file_format: str,
        decoding: BatchDecoding | None = None,
        table: "TableWriting | None" = None,
    ) -> None:
        self._table = table
        self._rows = rows
        self._ends = ends
        self._storage = storage
        self._format = file_format
        self._decoding = decoding

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """See ``RowWriter``."""
        with described_by_spark(f"batch {plan.number}"):
            self._write(plan, folder)
        paths = [file.path for file in self._storage.files(folder) if has_rows(file.path)]
        dead = [path for path in paths if is_dead(path)]
        # Spark looks at the files at once, and another process may have moved them.
        with described_by_spark(f"batch {plan.number}"):
            landed = self._read(folder, paths)
            letters = self._read(folder, dead) if dead else None
        parts = count_rows(self._rows, self._ends, plan, landed, letters)
        return WrittenRows(parts, paths)

    def _read(self, folder: str, paths: Iterable[str]) -> DataFrame:
        root = self._storage.uri(folder)
        return read_files(self._rows.session, root, paths, self._format)

    def _write(self, plan: BatchPlan, folder: str) -> None:
        if self._decoding is None:
            self._land(plan, self._planned(plan.ranges), SCHEMA, folder)
            return
        while not self._decoded(plan, folder, self._decoding):
            self._storage.delete(folder)

    def _decoded(self, plan: BatchPlan, folder: str, decoding: BatchDecoding) -> bool:
        """Write decoded rows; return False if the column has changed meanwhile."""
        begun = decoding.begin()
        self._land(plan, begun.landed(self._planned(plan.ranges)), begun.columns, folder)
        if decoding.adopt(begun):
            return False
        rejected = begun.findings.ranges()
        if rejected:
            below = f"{folder}/{DEAD_LETTERS}"
            self._save(plan, begun.dead(self._planned(rejected)), below)
        return not decoding.adopt(begun)

    def _planned(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        """Read ranges in no more tasks than are worth a file each."""
        rows = self._rows.read(ranges)
        total = sum(wanted.count for wanted in ranges)
        parallelism = self._rows.session.sparkContext.defaultParallelism
        tasks = max(parallelism, -(-total // RECORDS_PER_FILE))
        return rows.coalesce(tasks) if len(ranges) > tasks else rows

    def _land(self, plan: BatchPlan, rows: DataFrame, columns: pa.Schema, folder: str) -> None:
        if self._table is None:
            self._save(plan, rows, folder)
        else:
            self._table.save(plan, rows, columns, folder)

    def _save(self, plan: BatchPlan, rows: DataFrame, folder: str) -> None:
        dated = rows.withColumn("date", expr(date_of(plan.created_ms)))
        writer = dated.write.partitionBy("topic", "date").options(**_FORMATS[self._format])
        writer.format(self._format).save(self._storage.uri(folder))


def _runs_of(messages: DataFrame, wanted: Ranges) -> PartitionRuns:
    return ((tp, runs) for tp, runs in found_runs(messages) if tp in wanted)


def date_of(created_ms: int) -> str:
    """Return Spark SQL for the day of a message in UTC; without a timestamp, the plan's day.

    Messages with timestamps after the year 9999, for example if a producer confused microseconds
    and milliseconds, get the plan's day, too: one folder that is not a date would make readers
    treat the column as text.
    """
    planned = datetime.fromtimestamp(created_ms / 1000, UTC).date().isoformat()
    at = "unix_micros(timestamp)"
    # Not a cast of the timestamp, which would use the session's time zone.
    day = f"CAST(({at} - pmod({at}, {DAY_US}L)) DIV {DAY_US}L AS INT)"
    own = f"CASE WHEN {day} <= {LAST_DAY} THEN date_from_unix_date({day}) END"
    return f"CAST(coalesce({own}, DATE'{planned}') AS STRING)"
