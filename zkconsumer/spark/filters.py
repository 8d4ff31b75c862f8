"""Restricts ranges by a query's filters. Pure.

Filters on topic, partition and offset narrow or drop ranges, so that excluded messages are not even
fetched. Filters on timestamps can't: brokers of the ZooKeeper era keep none, and later ones keep
the producers', in any order; nor can filters on keys or values. Those are left to Spark.

No message has a null in these three columns, so a condition is either true or false.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from zkconsumer.model import OffsetRange, TopicPartition

Column: TypeAlias = Literal["partition", "offset"]


@dataclass(frozen=True, slots=True)
class TopicAmong:
    """The topic is one of several; ``negated``: it is none of them."""

    names: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TopicStarts:
    """The topic's name has a prefix; ``negated``: it does not."""

    prefix: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class NumberAmong:
    """The number in a column is one of several; ``negated``: it is none of them."""

    column: Column
    numbers: frozenset[int]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class NumberWithin:
    """The number in a column is at least ``low`` and below ``high``, as far as they are given."""

    column: Column
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition that is true of every message, or of none (as a comparison with null)."""

    holds: bool


Condition: TypeAlias = TopicAmong | TopicStarts | NumberAmong | NumberWithin | Constant


def is_exact(condition: Condition) -> bool:
    """Return whether all messages that ``select`` leaves meet the condition.

    A condition on offsets with gaps between them is not exact, since a range has no gaps.
    """
    if not isinstance(condition, NumberAmong) or condition.column == "partition":
        return True
    numbers = condition.numbers
    return not condition.negated and (
        not numbers or max(numbers) - min(numbers) + 1 == len(numbers)
    )


def select(
    ranges: Iterable[OffsetRange], conditions: Sequence[Condition]
) -> tuple[OffsetRange, ...]:
    """Restrict each range by all conditions; drop empty ones.

    All messages that meet all conditions remain. Others may remain only because a condition
    is not exact; see ``is_exact``.
    """
    kept = []
    for range_ in ranges:
        if not all(_can_hold(condition, range_.topic_partition) for condition in conditions):
            continue
        begin, until = range_.from_offset, range_.until_offset
        for condition in conditions:
            low, high = _offsets(condition)
            begin = begin if low is None else max(begin, low)
            until = until if high is None else min(until, high)
        if begin < until:
            kept.append(OffsetRange(range_.topic_partition, begin, until))
    return tuple(kept)


def _can_hold(condition: Condition, tp: TopicPartition) -> bool:
    """Return whether a condition admits messages of a topic-partition."""
    match condition:
        case TopicAmong():
            return (tp.topic in condition.names) is not condition.negated
        case TopicStarts():
            return tp.topic.startswith(condition.prefix) is not condition.negated
        case NumberAmong(column="partition"):
            return (tp.partition in condition.numbers) is not condition.negated
        case NumberWithin(column="partition"):
            low, high = condition.low, condition.high
            return (low is None or low <= tp.partition) and (high is None or tp.partition < high)
        case NumberAmong():
            return bool(condition.numbers) or condition.negated
        case NumberWithin():
            return True
        case Constant():
            return condition.holds
        case _:
            assert_never(condition)


def _offsets(condition: Condition) -> tuple[int | None, int | None]:
    """Return the range of offsets that can meet a condition: the first, and one past the last."""
    match condition:
        case NumberWithin(column="offset"):
            return condition.low, condition.high
        case NumberAmong(column="offset", negated=False) if condition.numbers:
            return min(condition.numbers), max(condition.numbers) + 1
        case _:
            return None, None
