"""The streaming reader: ``stream_plan`` under Spark's interface.

Spark creates one reader in a Python process on the driver that lives as long as the query, and
others in short-lived processes to plan tasks; those never connect.

Spark before 4.2 does not pass the start of a batch when it requests the end: see
``ZkStreamReader``. For later versions see ``admitting_reader``.

Source: PySpark 4.0 and 4.3 ``DataSourceStreamReader``, Spark 4.0 ``PythonMicroBatchStream``.
"""

import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from zkconsumer.errors import IllegalState
from zkconsumer.spark.compat import HAS_READ_LIMITS
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.reader import read_task
from zkconsumer.spark.rows import arrow_schema
from zkconsumer.spark.stream_offsets import StreamOffsets
from zkconsumer.spark.stream_plan import StreamPlan, begun_plan

log = logging.getLogger(__name__)

JsonOffset = dict[str, Any]

_ONE_BATCH = (
    "maxOffsetsPerTrigger: this Spark (before 4.2) does not tell a source which trigger a query "
    "has: with availableNow or once the query ends after one batch of that size; run it again "
    "until no messages are left, or call zkconsumer.spark.stream"
)

_WRAPPED = (
    ": with spark.sql.streaming.triggerAvailableNowWrapper.enabled Spark requests the end of a "
    "batch before it tells where the query resumes; set it to false, or call "
    "zkconsumer.spark.stream"
)


class ZkStreamReader(DataSourceStreamReader):
    """A streaming reader that tracks where the next batch starts.

    The next batch starts where the last one ended: Spark creates a batch for each end, and requests
    the next one when that batch is complete. A query that resumes a checkpoint first plans an empty
    range at the end of its last batch.

    Args:
        options: the options of a streaming query.
        schema: the requested columns.

    Attributes:
        begun: the query's plan; None before its first use.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self.options = options
        self._schema = arrow_schema(schema)
        self.begun: StreamPlan | None = None
        self._at: JsonOffset | None = None
        self._since: JsonOffset | None = None

    def initialOffset(self) -> JsonOffset:  # noqa: N802
        """Return the start of a new query."""
        return self.plan.initial().to_json()

    def latestOffset(self, *_given: Any) -> JsonOffset:  # noqa: N802
        """Return the next batch's end; commit everything before that batch, which is complete."""
        self._since = start = self.initialOffset() if self._at is None else self._at
        self._at = self.next_end(start, unlimited=False)
        return self._at

    def next_end(self, start: JsonOffset, *, unlimited: bool) -> JsonOffset:
        """Return the end of the batch that starts here; the start itself if no batch is due.

        Args:
            start: the end of the last batch, which is complete.
            unlimited: whether to ignore the limits of the options.
        """
        before = StreamOffsets.from_json(start)
        end = self.plan.latest(before, unlimited=unlimited)
        return start if end is before else end.to_json()

    def partitions(self, start: JsonOffset, end: JsonOffset) -> list[InputPartition]:
        """Plan the tasks of one batch.

        Raises:
            IllegalState: the batch does not start where its end was computed from, or the end was
                computed before Spark passed the position of the resumed query.
        """
        if self._since not in (None, start) and end in (start, self._at):
            raise IllegalState(
                f"the batch was planned from {self._since}, but Spark starts it at {start}"
                f"{_WRAPPED}"
            )
        self._at = end
        if start == end:
            return []
        tasks = self.plan.tasks(StreamOffsets.from_json(start), StreamOffsets.from_json(end))
        return list(tasks)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the messages of one task's range. Runs on an executor, without ZooKeeper."""
        return read_task(partition, self._schema)

    def commit(self, end: JsonOffset) -> None:
        """Do nothing: ``stream_plan`` is notified earlier that a batch is complete."""

    def stop(self) -> None:
        """Close all connections."""
        plan, self.begun = self.begun, None
        if plan is not None:
            plan.close()

    @property
    def plan(self) -> StreamPlan:
        """The query's plan, created at its first use."""
        if self.begun is None:
            self.begun = begun_plan(self.options)
            if self.options.max_offsets_per_trigger is not None and not HAS_READ_LIMITS:
                log.warning(_ONE_BATCH)
        return self.begun


def stream_reader(options: SourceOptions, schema: StructType) -> ZkStreamReader:
    """Create the reader with all features of this Spark.

    Raises:
        ConfigError: see ``ZkStreamReader``.
    """
    if HAS_READ_LIMITS:
        from zkconsumer.spark.admitting_reader import ZkAdmittingReader  # noqa: PLC0415 - see there

        return ZkAdmittingReader(options, schema)
    return ZkStreamReader(options, schema)
