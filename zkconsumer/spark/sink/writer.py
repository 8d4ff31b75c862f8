"""The sink of a batch query: ``df.write.format("zkconsumer").mode("append").save()``.

At least once: a task that is run again writes its rows again.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from zkconsumer.errors import ConfigError
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.spark.sink.plan import sink_plan
from zkconsumer.spark.sink.task import SinkPlan, SinkTask, Tally

log = logging.getLogger(__name__)


@dataclass
class Written(WriterCommitMessage):
    """What a task tells the driver: where its rows are."""

    tally: Tally


def batch_writer(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> "ZkWriter":
    """The writer of a batch query; runs on the driver, before any task.

    Raises:
        ConfigError: an option, a column, the topic or the mode is wrong.
        TransportError: no broker answers.
        RegistryError: ZooKeeper is needed to find them, and does not answer.
    """
    if overwrite:
        raise ConfigError("mode overwrite: a topic can't be overwritten; use mode('append')")
    return ZkWriter(sink_plan(options, schema))


def write_task(plan: SinkPlan, batches: Iterator[pa.RecordBatch]) -> Written:
    """Write one task's rows; runs on an executor.

    Raises:
        RowRefused: a row can't be written as it is.
        WriteFailed: brokers did not acknowledge some rows.
    """
    context = TaskContext.get()
    settings = plan.batch.producer
    dialer = dialer_of(replace(settings.client, security=plan.security))
    producer = BatchProducer(plan.brokers, dialer=dialer, settings=plan.batch)
    try:
        task = SinkTask(plan, producer, task=context.partitionId() if context else 0)
        return Written(task.write(batches))
    finally:
        producer.close()
        dialer.stop()


def written_by(messages: Sequence[WriterCommitMessage | None]) -> str:
    """What tasks wrote, in words: rows in all, and by topic."""
    tallies = [one.tally for one in messages if isinstance(one, Written)]
    by_topic: dict[str, int] = {}
    for tally in tallies:
        for tp, part in tally.partitions.items():
            by_topic[tp.topic] = by_topic.get(tp.topic, 0) + part.count
    topics = ", ".join(f"{topic} {count}" for topic, count in sorted(by_topic.items()))
    return f"{sum(by_topic.values())} rows" + (f" ({topics})" if topics else "")


class ZkWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query.

    Args:
        plan: what the driver made out.
    """

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """See ``write_task``."""
        return write_task(self._plan, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All rows are acknowledged already: only say so."""
        log.info("wrote %s", written_by(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Say what stays: what is in a log can't be taken back."""
        log.warning(
            "the write failed; %s of the tasks that finished stay where they are, and writing "
            "again will write them again",
            written_by(messages),
        )
