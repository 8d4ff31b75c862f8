"""The streaming reader: Spark's names for what ``stream_plan`` does.

Spark makes one in a Python process on the driver that lives as long as the query, and others in
short-lived processes to plan tasks; those never connect.

Source: PySpark 4.3 ``DataSourceStreamReader``.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from zkconsumer.errors import ZkConsumerError
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.group_progress import progress_of
from zkconsumer.spark.offset_json import to_json
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.reader import read_task
from zkconsumer.spark.rows import arrow_schema
from zkconsumer.spark.stream_offsets import StreamOffsets
from zkconsumer.spark.stream_plan import StreamPlan, system_surroundings

log = logging.getLogger(__name__)

JsonOffset = dict[str, Any]


class ZkStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what comes, batch by batch.

    Args:
        options: those of a streaming query.
        schema: the columns that are wanted.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = arrow_schema(schema)
        self._begun: StreamPlan | None = None

    def initialOffset(self) -> JsonOffset:  # noqa: N802
        """Where a new query starts."""
        return self._plan().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """What the options say; where that is two limits, ``latestOffset`` knows the other."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The query is to end where the logs end now."""
        self._plan().prepare_available_now()

    def latestOffset(self, start: JsonOffset, limit: ReadLimit) -> JsonOffset:  # noqa: N802
        """Where the next batch ends; everything before ``start`` is done, and is committed."""
        before = StreamOffsets.from_json(start)
        # A trigger that reads everything at once overrides the options.
        unlimited = limit == ReadAllAvailable() != self.getDefaultReadLimit()
        end = self._plan().latest(before, unlimited=unlimited)
        return start if end is before else end.to_json()

    def reportLatestOffset(self) -> JsonOffset | None:  # noqa: N802
        """Where the logs end, for the query's progress."""
        ends = None if self._begun is None else self._begun.ends
        return None if ends is None else {**to_json(ends)}

    def partitions(self, start: JsonOffset, end: JsonOffset) -> list[InputPartition]:
        """The tasks of one batch."""
        if start == end:
            return []
        tasks = self._plan().tasks(StreamOffsets.from_json(start), StreamOffsets.from_json(end))
        return list(tasks)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one task's range. Runs on an executor; asks brokers only."""
        return read_task(partition, self._schema)

    def commit(self, end: JsonOffset) -> None:
        """Nothing: that a batch is complete is known sooner, see ``stream_plan``."""

    def stop(self) -> None:
        """Let go of all connections."""
        plan, self._begun = self._begun, None
        if plan is not None:
            plan.close()

    def _plan(self) -> StreamPlan:
        if self._begun is None:
            for note in self._options.notes:
                log.warning("%s", note)
            cluster = ClusterReader.of(self._options)
            plan: StreamPlan | None = None
            try:
                progress = progress_of(self._options, cluster)
                plan = StreamPlan(self._options, system_surroundings(cluster, progress))
                plan.begin()
            except BaseException:
                with suppress(ZkConsumerError):
                    (plan or cluster).close()
                raise
            self._begun = plan
        return self._begun
