"""The batch reader, which plans on the driver and reads fixed ranges in tasks.

Spark creates a reader each time it plans a query, and sends it to the tasks: it holds options and
columns, but no connection.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from zkconsumer.spark.compat import is_pushing_filters
from zkconsumer.spark.filters import Condition
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import batch_tasks
from zkconsumer.spark.rows import arrow_schema
from zkconsumer.spark.task import read_partition


class ZkBatchReader(DataSourceReader):
    """Reads the ranges that the options describe, once.

    Args:
        options: the options of a batch query.
        schema: the requested columns.

    Attributes:
        conditions: the conditions that the query's filters stand for.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = arrow_schema(schema)
        self.conditions: list[Condition] = []

    def partitions(self) -> list[InputPartition]:
        """Plan the tasks now, and return them.

        Raises:
            ConfigError: an option names something that the cluster does not have.
            OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true.
            ZkConsumerError: the cluster can't be read.
        """
        return list(batch_tasks(self._options, self.conditions))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the messages of one task's range. Runs on an executor, without ZooKeeper."""
        return read_task(partition, self._schema)


def batch_reader(options: SourceOptions, schema: StructType) -> ZkBatchReader:
    """Create the reader that Spark accepts, with filters only if they are enabled.

    Raises:
        ConfigError: see ``ZkBatchReader``.
    """
    if is_pushing_filters():
        from zkconsumer.spark.pushdown import ZkFilteringReader  # noqa: PLC0415 - not on all Sparks

        return ZkFilteringReader(options, schema)
    return ZkBatchReader(options, schema)


def read_task(partition: InputPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return the messages of a task's range; none if it is Spark's placeholder for no tasks.

    Raises:
        TypeError: the partition is neither: its messages must not be skipped silently.
    """
    if isinstance(partition, ZkInputPartition):
        return read_partition(partition, schema)
    if getattr(partition, "value", partition) is None:
        return iter(())
    raise TypeError(f"no task of this source: {partition!r}")
