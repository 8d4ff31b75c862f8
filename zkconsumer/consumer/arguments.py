"""Checks the arguments of the poll API and converts them to our own types. Pure.

A partition is any object with a topic and a partition, such as kafka-python's ``TopicPartition``.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.printable import shown
from zkconsumer.topic_name import is_topic_name

_MOST_OFFSET = 2**63 - 1


def partition_of(value: object) -> TopicPartition:
    """Return a partition.

    Raises:
        IllegalArgumentError: the value is no partition.
    """
    topic, number = getattr(value, "topic", None), getattr(value, "partition", None)
    if (
        is_topic_name(topic)
        and isinstance(number, int)
        and not isinstance(number, bool)
        and 0 <= number < 2**31
    ):
        return TopicPartition(topic, number)
    raise IllegalArgumentError(
        f"{shown(value)} is not a partition: give a TopicPartition('weblog', 0)"
    )


def partitions_of(values: object) -> tuple[TopicPartition, ...]:
    """Return several partitions, each once, in the order given.

    Raises:
        IllegalArgumentError: an item is no partition, or the value is a single partition.
    """
    if isinstance(values, str | bytes | TopicPartition) or not isinstance(values, Iterable):
        raise IllegalArgumentError(f"partitions {shown(values)}: give a list of TopicPartition")
    return tuple(dict.fromkeys(partition_of(partition) for partition in values))


def topics_of(values: object) -> frozenset[str]:
    """Return topic names.

    Raises:
        IllegalArgumentError: an item is no topic name, or the value is a single name.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise IllegalArgumentError(f"topics {shown(values)}: give a list of names")
    names = list(values)
    for name in names:
        if not is_topic_name(name):
            raise IllegalArgumentError(
                f"topic {shown(name)}: a name has 1 to 255 letters, digits, '.', '_' or '-' and "
                "is not '.' or '..'; for patterns give subscribe(pattern=...)"
            )
    return frozenset(names)


def topic_matcher_of(value: object) -> Callable[[str], bool]:
    """Return a function that matches topic names, by a pattern or by a filter for whole names.

    Raises:
        IllegalArgumentError: the value is neither a pattern nor a filter.
    """
    if not isinstance(value, str | re.Pattern):
        # Slow to import, since it parses Java's regular expressions, and rarely needed.
        from zkconsumer.assignment.filters import Blacklist, Whitelist  # noqa: PLC0415

        if isinstance(value, Whitelist | Blacklist):
            return partial(value.allows, exclude_internal=False)
    pattern = pattern_of(value)
    return lambda name: pattern.match(name) is not None


def pattern_of(value: object) -> re.Pattern[str]:
    """Return a Python regular expression, to be matched from the beginning of a topic's name.

    Raises:
        IllegalArgumentError: the value is no pattern.
    """
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        return value
    if isinstance(value, str) and value:
        try:
            return re.compile(value)
        except re.error as error:
            raise IllegalArgumentError(f"pattern {shown(value)} can't be used: {error}") from error
    raise IllegalArgumentError(f"pattern {shown(value)}: give a regular expression such as '^web'")


def offset_of(value: object, what: str) -> int:
    """Return an offset; True counts as 1, as in kafka-python.

    Raises:
        IllegalArgumentError: the value is no offset; names its partition.
    """
    if isinstance(value, int) and 0 <= value <= _MOST_OFFSET:
        return int(value)
    raise IllegalArgumentError(
        f"offset {shown(value)} of {what}: an offset is an integer of at least 0"
    )


def positions_of(offsets: object, *, bare: bool = True) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit; kafka-python's ``OffsetAndMetadata`` is accepted, too.

    Args:
        offsets: the offsets by partition.
        bare: whether plain numbers are accepted.

    Raises:
        IllegalArgumentError: a key is no partition, or a value no offset; names it.
    """
    if not isinstance(offsets, Mapping):
        raise IllegalArgumentError(
            f"offsets {shown(offsets)}: give a map such as "
            "{TopicPartition('weblog', 0): OffsetAndMetadata(42)}"
        )
    found: dict[TopicPartition, OffsetAndMetadata] = {}
    for key, offset in offsets.items():
        tp = partition_of(key)
        metadata = getattr(offset, "metadata", None) or ""
        epoch = getattr(offset, "leader_epoch", -1)
        if isinstance(offset, int) and not bare:
            raise IllegalArgumentError(f"offset {offset} of {tp}: give OffsetAndMetadata({offset})")
        if not isinstance(metadata, str):
            raise IllegalArgumentError(f"metadata {shown(metadata)} of {tp}: give a string")
        found[tp] = OffsetAndMetadata(
            offset_of(getattr(offset, "offset", offset), f"{tp}"),
            metadata,
            epoch if isinstance(epoch, int) else -1,
        )
    return found


def timeout_of(timeout_ms: object, default_ms: int) -> int:
    """Return a time-out in whole milliseconds, rounded up; the default for None.

    Raises:
        IllegalArgumentError: the value is no number, or below 0.
    """
    if timeout_ms is None:
        return default_ms
    if isinstance(timeout_ms, int | float) and not isinstance(timeout_ms, bool) and timeout_ms >= 0:
        # Also accepts float('inf'), as kafka-python does.
        return math.ceil(min(timeout_ms, 2**31 - 1))
    raise IllegalArgumentError(
        f"timeout_ms {shown(timeout_ms)}: give a number of milliseconds, at least 0"
    )


def count_of(max_records: object, default: int) -> int:
    """Return a maximum number of records; the default for None, and 1 for True as in kafka-python.

    Raises:
        IllegalArgumentError: the value is no whole number, or below 1.
    """
    if max_records is None:
        return default
    if isinstance(max_records, int) and max_records > 0:
        return min(int(max_records), sys.maxsize)
    raise IllegalArgumentError(f"max_records {shown(max_records)}: give an integer of at least 1")


def time_of(time_ms: object, what: str) -> int:
    """Return a time in whole milliseconds since the epoch.

    Raises:
        IllegalArgumentError: the value is no number, or below 0; names its partition.
    """
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float) or time_ms < 0:
        raise IllegalArgumentError(
            f"time {shown(time_ms)} of {what}: give milliseconds since the epoch"
        )
    return int(min(time_ms, _MOST_OFFSET))
