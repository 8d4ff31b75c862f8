"""The sink of batch and streaming queries: ``df.write.format("zkconsumer").mode("append").save()``.

Writing is at least once, as in Spark's own Kafka sink: a repeated task or micro-batch writes its
rows again. In output mode ``complete`` each micro-batch appends the whole result, as in Spark.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from zkconsumer.spark.compat import DataSourceStreamArrowWriter
from zkconsumer.spark.sink.task import SinkPlan, WrittenCounts, in_words, write_rows

log = logging.getLogger(__name__)


@dataclass
class TaskResult(WriterCommitMessage):
    """The result of a writing task for the driver: the counts of rows by partition."""

    written: WrittenCounts


def _written_by(messages: Sequence[WriterCommitMessage | None]) -> str:
    """Describe the rows written; None in ``messages`` means a failed task."""
    return in_words(message.written for message in messages if isinstance(message, TaskResult))


class _TaskWriter:
    """Writes the rows of a task.

    Args:
        plan: the plan that the driver made.
    """

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """See ``write_rows``; Spark sends the result to the driver."""
        return TaskResult(write_rows(self._plan, iterator))


class ZkWriter(_TaskWriter, DataSourceArrowWriter):
    """Writes the rows of a batch query."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Log the rows written: all are acknowledged already."""
        log.info("wrote %s", _written_by(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Log which rows stay in the logs, since writes can't be undone."""
        log.warning(
            "the write failed; the %s that completed tasks wrote stay in the topics, and another "
            "attempt will write them again",
            _written_by(messages),
        )


class ZkStreamWriter(_TaskWriter, DataSourceStreamArrowWriter):
    """Writes the rows of a streaming query's micro-batches."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log the rows written: all are acknowledged already."""
        log.info("batch %d: wrote %s", batchId, _written_by(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Log which rows stay in the logs, since writes can't be undone."""
        log.warning(
            "batch %d failed; the %s that completed tasks wrote stay in the topics, and another "
            "attempt will write them again",
            batchId,
            _written_by(messages),
        )
