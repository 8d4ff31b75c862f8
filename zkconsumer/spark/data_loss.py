"""Finds the offsets that a query still had to read but no longer can. Pure.

Messages expire while a query is down, topics are deleted and recreated, logs are truncated. Each
lost range is reported with its offsets; ``failOnDataLoss`` decides whether it ends the query.

Source: Spark 4.2 ``KafkaOffsetReaderAdmin.getOffsetRangesFromResolvedOffsets``. Unlike in Spark,
    the ranges are checked before any task starts, and a recreated log is read from its beginning.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetRange, TopicPartition

_SHOWN = 10
_GONE = "the partition no longer exists"
_RECREATED = (
    "the topic was deleted and recreated after it had been read up to this offset, so its offsets "
    "mean other messages now"
)
_LEFT_OUT = "the partition no longer exists, or the options no longer name it"


class OffsetsLost(ZkConsumerError):
    """Offsets that a query had to read are gone, and ``failOnDataLoss`` is true.

    Attributes:
        losses: every lost range.
    """

    def __init__(self, losses: Sequence["Loss"]) -> None:
        super().__init__(
            f"failOnDataLoss: {describe(losses)}. Set failOnDataLoss=false to continue after the "
            "gap, or start a new query from other offsets"
        )
        self.losses = tuple(losses)


@dataclass(frozen=True, slots=True)
class Loss:
    """A range of one partition that can't be read, and why.

    An empty range stands for all offsets from there on, whose number is unknown.
    """

    lost: OffsetRange
    reason: str

    def __str__(self) -> str:
        if self.lost.count:
            return f"{self.lost} is lost: {self.reason}"
        where = f"{self.lost.topic_partition} from offset {self.lost.from_offset} on"
        return f"{where} is lost: {self.reason}"


@dataclass(frozen=True, slots=True)
class LogBounds:
    """The current log start and end of each partition; a deleted partition is missing."""

    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]


def readable(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    log: LogBounds,
    recreated: Collection[str] = (),
) -> tuple[list[OffsetRange], list[Loss]]:
    """Split the wanted offsets into readable ranges, at most one per partition, and losses.

    Args:
        start: the start of each partition; a partition that only ``end`` has is new, and is read
            from its first offset on.
        end: the end of each partition, exclusive. An end below its start means a recreated log,
            which is read from its beginning.
        log: the current log starts and ends.
        recreated: topics that were recreated since ``start``; they are read from their beginning.
    """
    ranges: list[OffsetRange] = []
    losses: list[Loss] = []
    for tp in sorted(start.keys() | end.keys()):
        begin = start.get(tp, 0)
        if tp not in end:
            rest = OffsetRange(tp, begin, begin)
            losses.append(Loss(rest, _LEFT_OUT))
            continue
        until = end[tp]
        if tp not in log.earliest:
            losses += _loss(tp, begin, until, _GONE)
            continue
        if tp.topic in recreated and tp in start:
            rest = OffsetRange(tp, begin, begin)
            losses.append(Loss(rest, _RECREATED))
            begin = log.earliest[tp]
        elif until < begin:
            losses.append(_made_again(tp, begin, until))
            begin = log.earliest[tp]
        first = max(begin, log.earliest[tp])
        last = min(until, log.latest[tp])
        losses += _loss(tp, begin, min(first, until), f"the log begins at {log.earliest[tp]}")
        losses += _loss(tp, max(begin, last), until, f"the log ends at {log.latest[tp]}")
        if first < last:
            ranges.append(OffsetRange(tp, first, last))
    return ranges, losses


def describe(losses: Iterable[Loss]) -> str:
    """Describe losses in one text; if there are many, only the first ones."""
    listed = list(losses)
    more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return "; ".join(map(format, listed[:_SHOWN])) + more


def _loss(tp: TopicPartition, begin: int, until: int, reason: str) -> list[Loss]:
    if begin >= until:
        return []
    return [Loss(OffsetRange(tp, begin, until), reason)]


def _made_again(tp: TopicPartition, begin: int, until: int) -> Loss:
    lost = OffsetRange(tp, until, begin)
    return Loss(
        lost,
        f"the log ends at {until}, although it was read up to {begin}: the topic was deleted and "
        "recreated, or its log truncated",
    )
