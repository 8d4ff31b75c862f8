"""Provides ``read``, ``write`` and ``stream``, which work on every Spark from 3.4 on.

On Spark 4.0 and later they are shortcuts for ``format("zkconsumer")``; on older versions, without
Python data sources, the same plans, tasks and columns run under ``mapInArrow``.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final
from weakref import WeakSet

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from zkconsumer.clock import SystemClock
from zkconsumer.scope import wait_ms
from zkconsumer.spark.batch_gate import BatchGate
from zkconsumer.spark.checkpoint import Checkpoint
from zkconsumer.spark.checkpoint_files import SparkCheckpointFiles
from zkconsumer.spark.compat import HAS_READ_LIMITS, HAS_SOURCES
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.mapped import mapped_frame, mapped_read, mapped_write
from zkconsumer.spark.micro_batches import MicroBatches, Trigger
from zkconsumer.spark.options import SourceOptions, source_options
from zkconsumer.spark.rows import spark_schema
from zkconsumer.spark.session import register
from zkconsumer.spark.stream_plan import begun_plan

_FORMAT: Final = "zkconsumer"
_GLANCE_S: Final = 1

_registered: Final[WeakSet[SparkSession]] = WeakSet()

Write = Callable[[DataFrame, int], None]
Option = str | int | bool | None


def read(spark: SparkSession, *, schema: StructType | None = None, **options: Option) -> DataFrame:
    """Read topics in a batch query.

    Before Spark 4.0 this call determines the offsets; from 4.0 on they are determined when the
    query runs.

    Args:
        spark: the session.
        schema: the requested columns; None: all.
        options: the options of ``format("zkconsumer")``; a name with dots is given by ``**{"a.b":
            "c"}``. None counts as not given.

    Returns:
        The columns of ``format("zkconsumer")``.

    Raises:
        ConfigError: an option or a column is wrong. From 4.0 on Spark wraps it.
        OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true; as above.
        ZkConsumerError: the cluster can't be read; as above.

    Thread: any.
    """
    _know(spark)
    return read_as(spark, _texts(options), schema)


def read_as(
    spark: SparkSession, options: Mapping[str, str], schema: StructType | None = None
) -> DataFrame:
    """Read like ``read``, with options as texts, in a session with the format registered."""
    if HAS_SOURCES:
        reader = spark.read.format(_FORMAT).options(**options)
        return (reader if schema is None else reader.schema(schema)).load()
    checked = source_options(options)
    return mapped_read(spark, checked, schema or _columns(checked))


def write(rows: DataFrame, **options: Option) -> None:
    """Append rows to topics, at least once; return when all are acknowledged.

    Args:
        rows: the rows, with a column ``value`` and others that ``format("zkconsumer")`` accepts.
        options: see ``read``.

    Raises:
        ConfigError: an option, a column or the topic is wrong. From 4.0 on Spark wraps it.
        ZkConsumerError: the cluster's metadata can't be read; as above.

    Thread: any.
    """
    given = _texts(options)
    if not HAS_SOURCES:
        mapped_write(rows, given)
        return
    _know(rows.sparkSession)
    rows.write.format(_FORMAT).mode("append").options(**given).save()


def stream(  # noqa: PLR0913 - one optional part a line, all by name
    spark: SparkSession,
    *,
    write: Write,
    checkpoint: str,
    available_now: bool = False,
    interval_ms: int = 0,
    stopped: Callable[[], bool] = lambda: False,
    schema: StructType | None = None,
    **options: Option,
) -> None:
    """Read topics batch by batch, in this thread, until the stream ends.

    An interrupted batch is repeated by the next call with this checkpoint, with the same number and
    the same messages; so delivery is exactly once if ``write`` ignores numbers that it has already
    written. A checkpoint can be resumed under every Spark from 3.4 on.

    Args:
        spark: the session.
        write: writes a batch; called with its rows and its number. An exception ends the stream.
        checkpoint: the folder for the stream's progress, on any file system of Spark.
        available_now: whether to end once the messages available at the start are read.
        interval_ms: the minimum time between batches, in milliseconds.
        stopped: returns True to end the stream after the current batch. Called between batches and
            while there is nothing to read; with Spark's own engine, every second. With Spark
            Connect the current batch is cancelled.
        schema: the requested columns; None: all.
        options: see ``read``.

    Raises:
        ConfigError: an option, a column or the checkpoint is wrong. Spark's own engine wraps it.
        OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true; as above.
        ZkConsumerError: the cluster can't be read; as above.

    Thread: any, but only one per checkpoint.
    """
    given = _texts(options)
    trigger = Trigger(available_now=available_now, interval_ms=interval_ms, stopped=stopped)
    # Spark 4.0 and 4.1 would end after one batch of maxOffsetsPerTrigger.
    if HAS_READ_LIMITS or (HAS_SOURCES and not available_now):
        _by_spark(spark, given, schema, write, checkpoint, trigger)
    else:
        _by_us(spark, given, schema, write, checkpoint, trigger)


def _by_spark(
    spark: SparkSession,
    given: Mapping[str, str],
    schema: StructType | None,
    write: Write,
    checkpoint: str,
    trigger: Trigger,
) -> None:
    _know(spark)
    reader = spark.readStream.format(_FORMAT).options(**given)
    rows = (reader if schema is None else reader.schema(schema)).load()
    gate = BatchGate(write)
    batches = rows.writeStream.foreachBatch(gate).option("checkpointLocation", checkpoint)
    if trigger.available_now:
        batches = batches.trigger(availableNow=True)
    else:
        batches = batches.trigger(processingTime=f"{trigger.interval_ms} milliseconds")
    query = batches.start()
    try:
        while not query.awaitTermination(_GLANCE_S):
            if trigger.stopped():
                if gate.shut():
                    query.awaitTermination()
                break
    finally:
        query.stop()


def _by_us(
    spark: SparkSession,
    given: Mapping[str, str],
    schema: StructType | None,
    write: Write,
    checkpoint: str,
    trigger: Trigger,
) -> None:
    options = source_options(given).for_streaming()
    columns = schema or _columns(options)

    def write_batch(tasks: Sequence[ZkInputPartition], number: int) -> None:
        write(mapped_frame(spark, tasks, columns), number)

    kept = Checkpoint(SparkCheckpointFiles(spark, checkpoint), checkpoint)
    with closing(begun_plan(options)) as plan:
        MicroBatches(plan, kept, write_batch, SystemClock()).run(trigger, wait_ms)


def _know(spark: SparkSession) -> None:
    """Register the format with the session, once."""
    if HAS_SOURCES and spark not in _registered:
        register(spark)
        _registered.add(spark)


def _columns(options: SourceOptions) -> StructType:
    return spark_schema(include_headers=options.include_headers)


def _texts(options: Mapping[str, Option]) -> dict[str, str]:
    """Return option values as texts, converted as Spark does it."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if value is not None
    }
