"""Reads and writes without Python data sources, on Spark before 4.0.

A frame of task numbers is mapped to the rows of these tasks. They get the same plain values as
tasks of the source, and create the same columns with the same code.

Source: Spark 3.4 ``DataFrame.mapInArrow``.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from zkconsumer.model import TopicPartition
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import batch_tasks
from zkconsumer.spark.rows import arrow_schema
from zkconsumer.spark.sink.plan import sink_plan
from zkconsumer.spark.sink.rows import COLUMNS, sink_columns
from zkconsumer.spark.sink.task import in_words, write_rows
from zkconsumer.spark.task import read_partition

log = logging.getLogger(__name__)

_WRITTEN = "topic string, partition int, count bigint"


def mapped_frame(
    session: SparkSession, tasks: Sequence[ZkInputPartition], schema: StructType
) -> DataFrame:
    """Return a frame of the messages of tasks, one partition for each task.

    Args:
        session: the session that reads.
        tasks: the inputs of the tasks.
        schema: the requested columns.

    Raises:
        ConfigError: there is no such column, or it has another type.
    """
    arrow = arrow_schema(schema)
    held = tuple(tasks)

    def read_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from read_partition(held[at], arrow)

    if not held:
        return session.createDataFrame([], schema)
    numbers = session.range(0, len(held), 1, len(held))
    return numbers.mapInArrow(read_tasks, schema)


def mapped_read(session: SparkSession, options: SourceOptions, schema: StructType) -> DataFrame:
    """Plan a batch query now, and return its frame.

    Raises:
        ConfigError: an option or a column is wrong.
        OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true.
        ZkConsumerError: the cluster can't be read.
    """
    arrow_schema(schema)
    return mapped_frame(session, batch_tasks(options.for_batch()), schema)


def mapped_write(rows: DataFrame, options: Mapping[str, str]) -> None:
    """Append rows to topics, at least once; return when all are acknowledged.

    Raises:
        ConfigError: an option, a column or the topic is wrong.
        ZkConsumerError: the cluster's metadata can't be read.
    """
    whole = sink_plan(options, rows.schema)
    # Arrow may not support the types of ignored columns.
    named = [
        name
        for name in COLUMNS
        if name in rows.columns and (name != "topic" or whole.topic is None)
    ]
    chosen = rows.select(*named)
    plan = replace(whole, columns=sink_columns(chosen.schema, topic=whole.topic))

    def write_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reported = [(*tp, count) for tp, count in write_rows(plan, iter(batches)).items()]
        columns = list(zip(*reported, strict=True)) or [(), (), ()]
        kinds = (pa.string(), pa.int32(), pa.int64())
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
        yield pa.record_batch(arrays, names=["topic", "partition", "count"])

    try:
        reported = chosen.mapInArrow(write_task, _WRITTEN).collect()
    except BaseException:
        log.warning(
            "the write failed; rows that completed tasks wrote stay in the topics, and another "
            "attempt will write them again"
        )
        raise
    counts = (Counter({TopicPartition(row[0], row[1]): row[2]}) for row in reported)
    log.info("wrote %s", in_words(counts))
