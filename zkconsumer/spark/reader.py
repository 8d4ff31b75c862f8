"""The batch reader: plans on the driver, reads fixed ranges in the tasks.

Spark makes it anew for every planning, and sends it to the tasks: it holds options and columns,
and no connection.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.filters import Condition, is_exact, select
from zkconsumer.spark.group_progress import progress_of
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import batch_ranges, input_partitions
from zkconsumer.spark.pushdown import condition_of, is_pushing
from zkconsumer.spark.rows import arrow_schema
from zkconsumer.spark.task import read_partition

log = logging.getLogger(__name__)


class ZkBatchReader(DataSourceReader):
    """Reads once what the options ask for.

    Args:
        options: those of a batch query.
        schema: the columns that are wanted.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = arrow_schema(schema)
        self._conditions: list[Condition] = []

    def partitions(self) -> list[InputPartition]:
        """The tasks, planned now.

        Raises:
            ConfigError: an option asks for what the cluster does not have.
            OffsetsLost: some of it is gone, and ``failOnDataLoss`` is true.
            ZkConsumerError: the cluster can't be asked.
        """
        for note in self._options.notes:
            log.warning("%s", note)
        with ExitStack() as stack:
            cluster = stack.enter_context(ClusterReader.of(self._options))
            progress = progress_of(self._options, cluster)
            if progress is not None:
                stack.callback(progress.close)
            ranges = batch_ranges(
                self._options, cluster, None if progress is None else progress.committed
            )
            left = select(ranges, self._conditions)
            return list(input_partitions(self._options, cluster, left))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of one task's range. Runs on an executor; asks brokers only."""
        return read_task(partition, self._schema)


class ZkFilteringReader(ZkBatchReader):
    """One that is given the query's filters before it plans; see ``pushdown``."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Take what is about topic, partition or offset; gives what Spark must still look at."""
        for one in filters:
            condition = condition_of(one)
            if condition is not None:
                self._conditions.append(condition)
            if condition is None or not is_exact(condition):
                yield one


def batch_reader(options: SourceOptions, schema: StructType) -> ZkBatchReader:
    """The reader that Spark takes where this runs: it refuses one with filters if they are off.

    Raises:
        ConfigError: see ``ZkBatchReader``.
    """
    return (ZkFilteringReader if is_pushing() else ZkBatchReader)(options, schema)


def read_task(partition: InputPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The messages of one task's range; none of the partition that Spark makes out of no tasks.

    Raises:
        TypeError: it is neither of the two: what it stands for must not go unread.
    """
    if isinstance(partition, ZkInputPartition):
        return read_partition(partition, schema)
    if getattr(partition, "value", partition) is None:
        return iter(())
    raise TypeError(f"no task of this source: {partition!r}")
