"""Implements ``KafkaUtils.createDirectStream``: each batch is an RDD of fixed ranges.

Spark requests the RDD of a time; the stream returns the messages since the last batch, and the same
ranges if the same time is requested again. So a context that recovers from its checkpoint repeats
the unfinished batches.

Source: Spark 2.4 ``DirectKafkaInputDStream``.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.streaming import DStream, StreamingContext
from pyspark.streaming.dstream import TransformedDStream
from pyspark.streaming.util import TransformFunction

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.compat import RDD
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.legacy.ranges import BatchRanges, given_offsets
from zkconsumer.spark.legacy.rdd import KafkaRDD, cluster_of, planned
from zkconsumer.spark.legacy.values import LegacyParams, OffsetRange, TopicAndPartition
from zkconsumer.spark.subscription import Topics

MAX_RATE = "spark.streaming.kafka.maxRatePerPartition"
Read = Callable[[ZkInputPartition], Iterator[Any]]

_streams: "dict[str, DirectStream]" = {}
"""The streams by id: several references in a checkpoint must become one object again."""


class DirectStream:
    """Creates the RDD of each batch. Thread: Spark's, one batch after another.

    Args:
        stream_id: the stream's id in the context.
        params: the parameters of the cluster and of reading.
        ranges: the ranges of earlier batches, and the start of the next one.
        read: the function that the tasks run.
    """

    def __init__(
        self, stream_id: str, params: LegacyParams, ranges: BatchRanges, read: Read
    ) -> None:
        self._id = stream_id
        self._params = params
        self._ranges = ranges
        self._read = read
        _streams[stream_id] = self

    def __reduce__(self) -> tuple[Callable[..., "DirectStream"], tuple[Any, ...]]:
        # It is pickled into checkpoints, which are files and must not hold secrets.
        return _restored, (self._id, self._params.without_secrets(), self._ranges, self._read)

    def batch(self, time: datetime, base: RDD[Any]) -> KafkaRDD:
        """Return the RDD for a time: new messages, or the same ranges as before.

        Raises:
            ConfigError: the stream was restored from a checkpoint, without security settings.
            ZkConsumerError: the cluster can't be read.
        """
        with cluster_of(self._params) as reader:
            ranges = self._ranges.remembered(time)
            if ranges is None:
                known = self._ranges.offsets
                ranges = self._ranges.next(reader.latest(sorted(known), known=known))
            partitions = planned(reader, self._params, ranges, {})
        # Only now, when nothing can fail any more: a batch that is not created must not be skipped.
        self._ranges.remember(time, ranges)
        return KafkaRDD(base.ctx, partitions, self._read)

    def ranges_of(self, time: datetime) -> list[OffsetRange]:
        """Return the ranges of an earlier batch."""
        return list(self._ranges.remembered(time) or ())


def _restored(
    stream_id: str, params: LegacyParams, ranges: BatchRanges, read: Read
) -> DirectStream:
    return _streams.get(stream_id) or DirectStream(stream_id, params, ranges, read)


class _BatchRDD(RDD[Any]):
    """The RDD of a batch, as passed to the program by ``foreachRDD`` and ``transform``."""

    def __init__(self, batch: RDD[Any], ranges: list[OffsetRange]) -> None:
        super().__init__(batch._jrdd, batch.ctx, batch._jrdd_deserializer)  # noqa: SLF001
        self._ranges = ranges

    def offsetRanges(self) -> list[OffsetRange]:  # noqa: N802 - Spark's name
        """Return the ranges, in the order of the RDD's partitions."""
        return list(self._ranges)


class KafkaDStream(TransformedDStream[Any]):
    """A stream of batches; in ``transform`` and ``foreachRDD`` each has ``offsetRanges()``.

    Args:
        base: the stream of times.
        stream: creates the batches.
    """

    def __init__(self, base: DStream[Any], stream: DirectStream) -> None:
        super().__init__(base, stream.batch)
        self._stream = stream

    def foreachRDD(self, func: Callable[..., None]) -> None:  # noqa: N802 - Spark's name
        """Call ``func(rdd)`` or ``func(time, rdd)`` with every batch."""
        ranged = _ranged(self._stream, func)
        function = TransformFunction(  # type: ignore[no-untyped-call]
            self._sc, ranged, self._jrdd_deserializer
        )
        _java(self._ssc).PythonDStream.callForeachRDD(self._jdstream, function)

    def transform(self, func: Callable[..., RDD[Any]]) -> TransformedDStream[Any]:
        """Return a stream of the results of ``func(rdd)`` or ``func(time, rdd)`` for each batch."""
        return TransformedDStream(self, _ranged(self._stream, func))


def _ranged(stream: DirectStream, func: Callable[..., Any]) -> Callable[[datetime, RDD[Any]], Any]:
    takes_time = func.__code__.co_argcount != 1

    def call(time: datetime, batch: RDD[Any]) -> Any:
        ranged = _BatchRDD(batch, stream.ranges_of(time))
        return func(time, ranged) if takes_time else func(ranged)

    return call


def direct_stream(
    ssc: StreamingContext,
    topics: Sequence[str],
    params: LegacyParams,
    from_offsets: Mapping[TopicAndPartition, int] | None,
    read: Read,
) -> KafkaDStream:
    """See ``KafkaUtils.createDirectStream``."""
    if isinstance(topics, str) or not topics:
        raise ConfigError(f"topics is {topics!r}: give a list of names")
    if from_offsets:
        offsets = given_offsets(topics, from_offsets)
    else:
        offsets = _first_offsets(topics, params)
    rate = int(ssc.sparkContext.getConf().get(MAX_RATE) or 0)
    most = max(1, int(rate * _batch_seconds(ssc))) if rate > 0 else None
    stream = DirectStream(uuid.uuid4().hex, params, BatchRanges(offsets, max_offsets=most), read)
    return KafkaDStream(_clock(ssc), stream)


def _first_offsets(topics: Sequence[str], params: LegacyParams) -> dict[TopicPartition, int]:
    with cluster_of(params) as reader:
        partitions = reader.partitions(Topics(tuple(sorted(set(topics)))))
        return reader.earliest(partitions) if params.from_smallest else reader.latest(partitions)


def _batch_seconds(ssc: StreamingContext) -> float:
    duration = ssc._jssc.ssc().graph().batchDuration()  # noqa: SLF001 - Python has no name for it
    return float(duration.milliseconds()) / 1000


def _clock(ssc: StreamingContext) -> DStream[Any]:
    """Return a stream of empty batches, which provides the times and can be checkpointed."""
    empty: RDD[Any] = ssc.sparkContext.parallelize([], 1)
    streaming = _java(ssc).org.apache.spark.streaming
    jrdd, java_context = empty._jrdd, ssc._jssc.ssc()  # noqa: SLF001 - as every DStream does
    constant = streaming.dstream.ConstantInputDStream(java_context, jrdd.rdd(), jrdd.classTag())
    java_stream = streaming.api.java.JavaDStream(constant, jrdd.classTag())
    return DStream(java_stream, ssc, empty._jrdd_deserializer)  # noqa: SLF001


def _java(ssc: StreamingContext) -> Any:
    """Return the gateway to Spark's Java classes."""
    return ssc._jvm  # noqa: SLF001 - as every DStream does
