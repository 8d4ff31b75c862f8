"""The sink of a batch query: ``df.write.format("zkconsumer").mode("append").save()``.

At least once: a task that is run again writes its rows again.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from zkconsumer.errors import ConfigError
from zkconsumer.spark.sink.job import in_words, write_rows
from zkconsumer.spark.sink.plan import sink_plan
from zkconsumer.spark.sink.task import SinkPlan, WrittenCounts

log = logging.getLogger(__name__)


@dataclass
class TaskResult(WriterCommitMessage):
    """Result of a writing task for the driver: the rows by partition."""

    tally: WrittenCounts


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> "ZkWriter":
    """Return the writer of a batch query; runs on the driver, before any task.

    Raises:
        ConfigError: an option, a column, the topic or the mode is wrong.
        TransportError: no broker answers.
        RegistryError: ZooKeeper is needed to find them, and does not answer.
    """
    if overwrite:
        raise ConfigError("mode overwrite: a topic can't be overwritten; use mode('append')")
    return ZkWriter(sink_plan(options, schema))


def write_task(plan: SinkPlan, batches: Iterator[pa.RecordBatch]) -> TaskResult:
    """See ``write_rows``; for Spark, which takes the answer to the driver."""
    return TaskResult(write_rows(plan, batches))


def written_by(messages: Sequence[WriterCommitMessage | None]) -> str:
    """Describe the rows written; None means a failed task."""
    return in_words(message.tally for message in messages if isinstance(message, TaskResult))


class ZkWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query.

    Args:
        plan: what the driver made out.
    """

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """See ``write_task``."""
        return write_task(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Log the rows written: all are acknowledged already."""
        log.info("wrote %s", written_by(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Say what stays: what is in a log can't be taken back."""
        log.warning(
            "the write failed; %s of the tasks that finished stay where they are, and writing "
            "again will write them again",
            written_by(messages),
        )
