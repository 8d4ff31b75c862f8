"""Compute the offset ranges of a direct stream's batches. Pure.

A time keeps its ranges, so that a batch which is made again has the same messages.
Source: Spark 2.4 ``DirectKafkaInputDStream`` (``currentOffsets``, ``clamp``).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.legacy.values import OffsetRange, TopicAndPartition

REMEMBERED = 1_000
"""Batches whose ranges are kept; far more than may wait, or be repeated after a recovery."""


class BatchRanges:
    """Ranges of a stream's batches; picklable for checkpoints.

    Args:
        offsets: where the first batch starts, by partition.
        most: the most messages of a partition in a batch; None for all.
    """

    def __init__(self, offsets: Mapping[TopicPartition, int], *, most: int | None) -> None:
        self._offsets = dict(offsets)
        self._most = most
        self._kept: dict[int, tuple[OffsetRange, ...]] = {}

    @property
    def offsets(self) -> Mapping[TopicPartition, int]:
        """Where the next batch starts, by partition."""
        return dict(self._offsets)

    def of(self, time: datetime) -> tuple[OffsetRange, ...] | None:
        """Return the ranges of a batch that was made; None where there was none at that time."""
        return self._kept.get(_instant_ms(time))

    def next(self, latest: Mapping[TopicPartition, int]) -> tuple[OffsetRange, ...]:
        """Return the next batch up to the log ends; a log that became shorter adds nothing."""
        ranges = []
        for tp, offset in sorted(self._offsets.items()):
            until = max(offset, latest[tp])
            if self._most is not None:
                until = min(until, offset + self._most)
            ranges.append(OffsetRange(tp.topic, tp.partition, offset, until))
        return tuple(ranges)

    def keep(self, time: datetime, ranges: Sequence[OffsetRange]) -> None:
        """Record a batch: the next one starts after it."""
        self._kept[_instant_ms(time)] = tuple(ranges)
        for range_ in ranges:
            tp = TopicPartition(range_.topic, range_.partition)
            self._offsets[tp] = max(self._offsets[tp], range_.untilOffset)
        for old in sorted(self._kept)[:-REMEMBERED]:
            del self._kept[old]


def given_offsets(
    topics: Sequence[str], from_offsets: Mapping[TopicAndPartition, int]
) -> dict[TopicPartition, int]:
    """Return the start offsets that the program gives.

    Source: Spark 2.4 ``KafkaUtilsPythonHelper.createDirectStream``, which refuses the same.

    Raises:
        ConfigError: the offsets are of other topics than those to be read.
    """
    named, wanted = sorted({tp.topic for tp in from_offsets}), sorted(set(topics))
    if named != wanted:
        raise ConfigError(
            f"fromOffsets are of {', '.join(named)}, and topics are {', '.join(wanted)}: only what "
            "has an offset would be read, so name the same topics in both"
        )
    return {TopicPartition(tp.topic, tp.partition): at for tp, at in from_offsets.items()}


def _instant_ms(time: datetime) -> int:
    """Spark's time as milliseconds since the epoch.

    It comes as a local time without a zone. When clocks are put back, an hour of these comes twice;
    two that differ by their fold only are equal, and have the same hash.
    """
    return round(time.timestamp() * 1000)
