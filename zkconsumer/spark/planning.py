"""Plans the tasks of a query from its options, on the driver, before any of them runs.

Executors get plain values: offsets, the current leader, and brokers to request a new one from. They
never connect to ZooKeeper.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.data_loss import LogBounds, OffsetsLost, describe, readable
from zkconsumer.spark.filters import Condition, select
from zkconsumer.spark.group_progress import connected
from zkconsumer.spark.offset_limits import (
    ENDING,
    STARTING,
    Committed,
    Exact,
    Offsets,
    resolve_ending,
    resolve_starting,
)
from zkconsumer.spark.offset_ranges import divide
from zkconsumer.spark.options import SourceOptions

if TYPE_CHECKING:
    from zkconsumer.spark.input_partition import ZkInputPartition

log = logging.getLogger(__name__)


class CachedLogEnds:
    """A ``LogLookup`` that reads both ends of the logs once.

    The earliest offsets at which a query starts must be those that it is checked against:
    otherwise, messages that expire between two lookups would count as lost.
    """

    def __init__(self, cluster: ClusterReader, partitions: Sequence[TopicPartition]) -> None:
        self._cluster = cluster
        self.bounds = LogBounds(cluster.earliest(partitions), cluster.latest(partitions))

    def earliest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """See ``LogLookup``."""
        return {tp: self.bounds.earliest[tp] for tp in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> Offsets:
        """See ``LogLookup``."""
        return {tp: self.bounds.latest[tp] for tp in partitions}

    def at_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """See ``LogLookup``."""
        return self._cluster.at_time(times)

    def until_time(self, times: Mapping[TopicPartition, int]) -> Offsets:
        """See ``LogLookup``."""
        return self._cluster.until_time(times)

    def read_grown_ends(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read the log end again for each partition whose given offset is after the known end.

        Offsets by time and of groups are looked up after the ends, and logs grow meanwhile.
        """
        latest = self.bounds.latest
        grown = [tp for tp, offset in offsets.items() if offset > latest[tp]]
        if grown:
            now = self._cluster.latest(grown)
            self.bounds = LogBounds(self.bounds.earliest, {**latest, **now})


def starting_offsets(
    options: SourceOptions,
    partitions: Sequence[TopicPartition],
    log_ends: CachedLogEnds,
    committed: Committed | None,
) -> Offsets:
    """Return the start offsets of a new query.

    Raises:
        ConfigError: an offset is after the end of its log, or invalid; see ``resolve_starting``.
    """
    start = resolve_starting(options.starting, partitions, log_ends, committed)
    log_ends.read_grown_ends(start)
    if isinstance(options.starting, Exact):
        _refuse_after_end(STARTING.offsets, start, log_ends.bounds)
    return start


def batch_ranges(
    options: SourceOptions, cluster: ClusterReader, committed: Committed | None
) -> tuple[OffsetRange, ...]:
    """Return the ranges of a batch query, at most one per partition.

    Raises:
        ConfigError: an option names topics or partitions that don't exist.
        OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true.
        ZkConsumerError: the cluster can't be read.
    """
    partitions = cluster.partitions(options.subscription)
    log_ends = CachedLogEnds(cluster, partitions)
    start = starting_offsets(options, partitions, log_ends, committed)
    end = resolve_ending(options.ending, partitions, log_ends)
    log_ends.read_grown_ends(end)
    if options.ranges.fail_on_data_loss and isinstance(options.ending, Exact):
        _refuse_after_end(ENDING.offsets, end, log_ends.bounds)
    for tp, begin in start.items():
        if end[tp] < begin <= log_ends.bounds.latest[tp]:
            end[tp] = begin  # an end before the start, by time or by group: nothing to read
    return ranges_to_read(options, start, end, log_ends.bounds)


def ranges_to_read(
    options: SourceOptions,
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    bounds: LogBounds,
    recreated: Collection[str] = (),
) -> tuple[OffsetRange, ...]:
    """Return the readable ranges of ``[start, end)``; see ``readable``.

    Raises:
        OffsetsLost: a part is not readable, and ``failOnDataLoss`` is true; if it is false, the
            loss is logged.
    """
    ranges, losses = readable(start, end, bounds, recreated)
    if losses and options.ranges.fail_on_data_loss:
        raise OffsetsLost(losses)
    if losses:
        log.warning("%s (failOnDataLoss is false: going on)", describe(losses))
    return tuple(ranges)


def input_partitions(
    options: SourceOptions, cluster: ClusterReader, ranges: Sequence[OffsetRange]
) -> "list[ZkInputPartition]":
    """Create the tasks that read these ranges."""
    if not ranges:
        return []
    from zkconsumer.spark.input_partition import ZkInputPartition  # noqa: PLC0415 - loads Spark

    brokers = tuple(cluster.brokers())
    leaders = cluster.leaders([range_.topic_partition for range_ in ranges])
    settings = options.ranges
    return [
        ZkInputPartition(
            range_=piece,
            leader=leaders.get(piece.topic_partition),
            brokers=brokers,
            settings=settings,
            security=options.address.broker_security,
            are_old=cluster.are_old,
        )
        for piece in divide(ranges, options.min_partitions, options.max_records_per_partition)
    ]


def _refuse_after_end(option: str, given: Mapping[TopicPartition, int], log: LogBounds) -> None:
    for tp, offset in given.items():
        if offset > log.latest[tp]:
            raise ConfigError(
                f"{option} of {tp} is {offset}, which is after the end of its log: the log holds "
                f"offsets from {log.earliest[tp]} up to {log.latest[tp]}, exclusive"
            )


def batch_tasks(
    options: SourceOptions, conditions: Sequence[Condition] = ()
) -> "list[ZkInputPartition]":
    """Plan the tasks of a batch query.

    Args:
        options: the options of a batch query.
        conditions: the conditions that its filters stand for.

    Raises:
        ConfigError: an option names topics or partitions that don't exist.
        OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true.
        ZkConsumerError: the cluster can't be read.
    """
    for note in options.notes:
        log.warning("%s", note)
    with connected(options) as (cluster, progress):
        ranges = batch_ranges(options, cluster, None if progress is None else progress.committed)
        return input_partitions(options, cluster, select(ranges, conditions))
