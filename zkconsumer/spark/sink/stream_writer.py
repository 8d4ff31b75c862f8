"""The sink of a streaming query: ``df.writeStream.format("zkconsumer").start()``.

At least once, as Spark's own Kafka sink: a micro-batch that is run again writes its rows again. In
output mode ``complete`` each micro-batch appends the whole result, as there.
"""

import logging
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql.types import StructType

from zkconsumer.spark.compat import DataSourceStreamArrowWriter, WriterCommitMessage
from zkconsumer.spark.sink.plan import sink_plan
from zkconsumer.spark.sink.task import SinkPlan
from zkconsumer.spark.sink.writer import TaskResult, write_task, written_by

log = logging.getLogger(__name__)


def stream_writer(options: Mapping[str, str], schema: StructType) -> "ZkStreamWriter":
    """Return the writer of a streaming query; runs on the driver, before any task.

    Raises:
        ConfigError: an option, a column or the topic is wrong.
        TransportError: no broker answers.
        RegistryError: ZooKeeper is needed to find them, and does not answer.
    """
    return ZkStreamWriter(sink_plan(options, schema))


class ZkStreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of a query's micro-batches.

    Args:
        plan: what the driver made out.
    """

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """See ``write_task``."""
        return write_task(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log the rows written: all are acknowledged already."""
        log.info("batch %d: wrote %s", batchId, written_by(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Say what stays: what is in a log can't be taken back."""
        log.warning(
            "batch %d failed; %s of the tasks that finished stay where they are, and the batch, "
            "run again, will write them again",
            batchId,
            written_by(messages),
        )
