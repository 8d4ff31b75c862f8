"""Run a task of a writing query, and report its counts to the driver."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext

from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.spark.sink.task import SinkPlan, SinkTask, WrittenCounts


def write_rows(plan: SinkPlan, batches: Iterator[pa.RecordBatch]) -> WrittenCounts:
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
        return task.write(batches)
    finally:
        producer.close()
        dialer.stop()


def in_words(tallies: Iterable[WrittenCounts]) -> str:
    """Describe the rows written, in all and by topic."""
    by_topic: dict[str, int] = {}
    for tally in tallies:
        for tp, part in tally.partitions.items():
            by_topic[tp.topic] = by_topic.get(tp.topic, 0) + part.count
    topics = ", ".join(f"{topic} {count}" for topic, count in sorted(by_topic.items()))
    return f"{sum(by_topic.values())} rows" + (f" ({topics})" if topics else "")
