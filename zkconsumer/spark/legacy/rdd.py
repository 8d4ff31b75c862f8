"""Plans an RDD of fixed ranges on the driver, and reads them in tasks.

Source: Spark 2.4 ``KafkaRDD``, ``KafkaCluster``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark import SparkContext

from zkconsumer import model
from zkconsumer.errors import ConfigError
from zkconsumer.printable import listed
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.compat import PipelinedRDD
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.legacy.values import (
    Broker,
    Decoder,
    KafkaMessageAndMetadata,
    LegacyParams,
    OffsetRange,
    TopicAndPartition,
)
from zkconsumer.spark.subscription import ASSIGN, Assigned
from zkconsumer.spark.task import parts_of

MessageHandler = Callable[[KafkaMessageAndMetadata], Any]


class KafkaRDD(PipelinedRDD[Any, Any]):
    """An RDD of the messages of fixed ranges: one partition for each range, in the given order.

    Args:
        context: Spark's context.
        partitions: the inputs of the tasks.
        read: the function that the tasks run.
    """

    def __init__(
        self,
        context: SparkContext,
        partitions: Sequence[ZkInputPartition],
        read: Callable[[ZkInputPartition], Iterator[Any]],
    ) -> None:
        def read_all(_split: int, slices: Iterable[ZkInputPartition]) -> Iterator[Any]:
            for slice_ in slices:
                yield from read(slice_)

        super().__init__(context.parallelize(partitions, max(1, len(partitions))), read_all)
        self._ranges = [
            OffsetRange(*part.topic_partition, part.range_.from_offset, part.range_.until_offset)
            for part in partitions
        ]

    def offsetRanges(self) -> list[OffsetRange]:  # noqa: N802 - Spark's name
        """Return the ranges, in the order of the RDD's partitions."""
        return list(self._ranges)


def cluster_of(params: LegacyParams) -> ClusterReader:
    """Create a cluster reader from a program's parameters.

    Raises:
        ConfigError: the parameters were restored from a checkpoint, without security settings.
    """
    if params.lacks_security:
        raise ConfigError(
            "the checkpoint does not contain the security settings of the brokers (TLS, SASL), "
            "since it is a file: create a new StreamingContext instead of recovering it, with "
            "fromOffsets set to the end of its last batch"
        )
    settings = params.settings
    return ClusterReader(params.address, client_id=settings.client_id, isolation=settings.isolation)


def planned(
    reader: ClusterReader,
    params: LegacyParams,
    ranges: Sequence[OffsetRange],
    leaders: Mapping[TopicAndPartition, Broker],
) -> list[ZkInputPartition]:
    """Plan the tasks, after checking that the logs hold the ranges.

    Raises:
        ConfigError: a range is invalid, or the log does not hold all of it.
    """
    fetched_ranges = [_range(range_) for range_ in ranges]
    wanted = sorted({range_.topic_partition for range_ in fetched_ranges})
    try:
        reader.partitions(Assigned(tuple(wanted)))
    except ConfigError as error:
        raise ConfigError(f"offsetRanges: {str(error).removeprefix(f'{ASSIGN}: ')}") from error
    earliest, latest = reader.earliest(wanted), reader.latest(wanted)
    bad = [
        f"{range_} (the log has "
        f"[{earliest[range_.topic_partition]}, {latest[range_.topic_partition]}))"
        for range_ in fetched_ranges
        if not earliest[range_.topic_partition] <= range_.from_offset
        or not range_.until_offset <= latest[range_.topic_partition]
    ]
    if bad:
        raise ConfigError(f"offsetRanges: not in the log: {listed(bad)}")
    found = reader.leaders(wanted)
    brokers = reader.brokers()
    return [
        ZkInputPartition(
            range_=range_,
            leader=_named(leaders, range_.topic_partition) or found[range_.topic_partition],
            brokers=brokers,
            settings=params.settings,
            security=params.address.broker_security,
            are_old=reader.are_old,
        )
        for range_ in fetched_ranges
    ]


def reading(
    key_decoder: Decoder, value_decoder: Decoder, handler: MessageHandler | None
) -> Callable[[ZkInputPartition], Iterator[Any]]:
    """Return the function that tasks run: it yields pairs, or the handler's results."""

    def read(partition: ZkInputPartition) -> Iterator[Any]:
        topic, number = partition.topic_partition
        for part in parts_of(partition):
            for record in part.records():
                if handler is None:
                    yield key_decoder(record.key), value_decoder(record.value)
                    continue
                yield handler(
                    KafkaMessageAndMetadata(
                        topic,
                        number,
                        record.offset,
                        record.key,
                        record.value,
                        key_decoder=key_decoder,
                        value_decoder=value_decoder,
                    )
                )

    return read


def _range(wanted: OffsetRange) -> model.OffsetRange:
    try:
        return model.OffsetRange(
            model.TopicPartition(wanted.topic, wanted.partition),
            wanted.fromOffset,
            wanted.untilOffset,
        )
    except ValueError:
        raise ConfigError(f"offsetRanges: {wanted} ends before it starts") from None


def _named(
    leaders: Mapping[TopicAndPartition, Broker], tp: model.TopicPartition
) -> model.Broker | None:
    named = leaders.get(TopicAndPartition(*tp))
    return None if named is None else model.Broker(-1, named.host, named.port)
