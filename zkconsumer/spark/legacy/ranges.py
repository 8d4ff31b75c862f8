"""Computes the offset ranges of a direct stream's batches. Pure.

The ranges of each batch time are remembered, so that a repeated batch has the same messages.
Source: Spark 2.4 ``DirectKafkaInputDStream`` (``currentOffsets``, ``clamp``).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.legacy.values import OffsetRange, TopicAndPartition

REMEMBERED = 1_000
"""The number of batches whose ranges are remembered: more than can wait or be repeated."""


class BatchRanges:
    """Computes and remembers the ranges of a stream's batches; picklable for checkpoints.

    Args:
        offsets: where the first batch starts, by partition.
        max_offsets: the maximum number of a partition's messages in a batch; None: no limit.
    """

    def __init__(self, offsets: Mapping[TopicPartition, int], *, max_offsets: int | None) -> None:
        self._offsets = dict(offsets)
        self._max_offsets = max_offsets
        self._remembered: dict[int, tuple[OffsetRange, ...]] = {}

    @property
    def offsets(self) -> Mapping[TopicPartition, int]:
        """Where the next batch starts, by partition."""
        return dict(self._offsets)

    def remembered(self, time: datetime) -> tuple[OffsetRange, ...] | None:
        """Return the ranges of an earlier batch; None if there was none at that time."""
        return self._remembered.get(_instant_ms(time))

    def next(self, latest: Mapping[TopicPartition, int]) -> tuple[OffsetRange, ...]:
        """Return the next batch up to the log ends; a log that became shorter adds no messages."""
        ranges = []
        for tp, offset in sorted(self._offsets.items()):
            until = max(offset, latest[tp])
            if self._max_offsets is not None:
                until = min(until, offset + self._max_offsets)
            ranges.append(OffsetRange(tp.topic, tp.partition, offset, until))
        return tuple(ranges)

    def remember(self, time: datetime, ranges: Sequence[OffsetRange]) -> None:
        """Remember a batch: the next one starts after it."""
        self._remembered[_instant_ms(time)] = tuple(ranges)
        for range_ in ranges:
            tp = TopicPartition(range_.topic, range_.partition)
            self._offsets[tp] = max(self._offsets[tp], range_.untilOffset)
        for old in sorted(self._remembered)[:-REMEMBERED]:
            del self._remembered[old]


def given_offsets(
    topics: Sequence[str], from_offsets: Mapping[TopicAndPartition, int]
) -> dict[TopicPartition, int]:
    """Return the program's start offsets.

    Source: Spark 2.4 ``KafkaUtilsPythonHelper.createDirectStream``, which refuses the same.

    Raises:
        ConfigError: the offsets are for other topics than those to be read.
    """
    named, wanted = sorted({tp.topic for tp in from_offsets}), sorted(set(topics))
    if named != wanted:
        raise ConfigError(
            f"fromOffsets has offsets of {', '.join(named)}, and topics names {', '.join(wanted)}: "
            "only partitions with an offset are read, so name the same topics in both"
        )
    return {TopicPartition(tp.topic, tp.partition): at for tp, at in from_offsets.items()}


def _instant_ms(time: datetime) -> int:
    """Convert Spark's time to milliseconds since the epoch.

    Spark's time is a local time without a zone. When clocks are put back, an hour of these
    occurs twice; times that differ only by their fold are equal, and have the same hash.
    """
    return round(time.timestamp() * 1000)
