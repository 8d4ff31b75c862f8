"""What callers give to the poll API, checked and in our own types. Pure.

A partition is what has a topic and a partition, also kafka-python's own ``TopicPartition``.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cluster.topic_names import legal_topic
from zkconsumer.config_spec import shown
from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import OffsetAndMetadata, TopicPartition

_MOST_OFFSET = 2**63 - 1


def partition_of(one: object) -> TopicPartition:
    """One partition.

    Raises:
        IllegalArgumentError: it is none.
    """
    topic, number = getattr(one, "topic", None), getattr(one, "partition", None)
    if (
        isinstance(topic, str)
        and legal_topic(topic)
        and isinstance(number, int)
        and not isinstance(number, bool)
        and 0 <= number < 2**31
    ):
        return TopicPartition(topic, number)
    raise IllegalArgumentError(f"{shown(one)} is no partition: give a TopicPartition('weblog', 0)")


def partitions_of(many: object) -> tuple[TopicPartition, ...]:
    """Several partitions, each once, in the order given.

    Raises:
        IllegalArgumentError: one of them is none, or this is one partition and not several.
    """
    if isinstance(many, str | bytes | TopicPartition) or not isinstance(many, Iterable):
        raise IllegalArgumentError(f"partitions {shown(many)}: give a list of TopicPartition")
    return tuple(dict.fromkeys(partition_of(partition) for partition in many))


def topics_of(many: object) -> frozenset[str]:
    """Names of topics.

    Raises:
        IllegalArgumentError: one of them is none, or this is one name and not several.
    """
    if isinstance(many, str | bytes) or not isinstance(many, Iterable):
        raise IllegalArgumentError(f"topics {shown(many)}: give a list of names")
    names = list(many)
    for name in names:
        if not legal_topic(name):
            raise IllegalArgumentError(
                f"topic {shown(name)}: a name has 1 to 255 letters, digits, '.', '_' or '-' and "
                "is not '.' or '..'; for patterns give subscribe(pattern=...)"
            )
    return frozenset(names)


def topic_matcher_of(one: object) -> Callable[[str], bool]:
    """What says whether a pattern matches a topic's name from its beginning, or a filter all of it.

    Raises:
        IllegalArgumentError: it is neither.
    """
    if isinstance(one, Whitelist | Blacklist):
        return partial(one.allows, exclude_internal=False)
    pattern = pattern_of(one)
    return lambda name: pattern.match(name) is not None


def pattern_of(one: object) -> re.Pattern[str]:
    """A pattern of topic names: Python's, matched from the beginning of a name.

    Raises:
        IllegalArgumentError: it is none.
    """
    if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
        return one
    if isinstance(one, str) and one:
        try:
            return re.compile(one)
        except re.error as error:
            raise IllegalArgumentError(f"pattern {shown(one)} can't be used: {error}") from error
    raise IllegalArgumentError(f"pattern {shown(one)}: give a regular expression such as '^web'")


def offset_of(one: object, what: str) -> int:
    """An offset.

    Raises:
        IllegalArgumentError: it is none; names what it is for.
    """
    if isinstance(one, int) and 0 <= one <= _MOST_OFFSET:
        return int(one)
    raise IllegalArgumentError(
        f"offset {shown(one)} of {what}: an offset is a whole number from 0 on"
    )


def positions_of(offsets: object, *, bare: bool = True) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets to commit; kafka-python's ``OffsetAndMetadata`` do, too.

    Args:
        offsets: by partition.
        bare: whether bare numbers are taken.

    Raises:
        IllegalArgumentError: naming what is wrong.
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
            raise IllegalArgumentError(f"metadata {shown(metadata)} of {tp}: give a text")
        found[tp] = OffsetAndMetadata(
            offset_of(getattr(offset, "offset", offset), f"{tp}"),
            metadata,
            epoch if isinstance(epoch, int) else -1,
        )
    return found


def timeout_of(timeout_ms: object, default_ms: int) -> int:
    """How long a call may take, in whole milliseconds, never less; None: as by default.

    Raises:
        IllegalArgumentError: no number, or below 0.
    """
    if timeout_ms is None:
        return default_ms
    if isinstance(timeout_ms, int | float) and not isinstance(timeout_ms, bool) and timeout_ms >= 0:
        # Also float('inf'), which kafka-python takes.
        return math.ceil(min(timeout_ms, 2**31 - 1))
    raise IllegalArgumentError(
        f"timeout_ms {shown(timeout_ms)}: give a number of milliseconds from 0 on"
    )


def count_of(max_records: object, default: int) -> int:
    """How many records at most; None: as by default.

    Raises:
        IllegalArgumentError: no whole number, or below 1.
    """
    if max_records is None:
        return default
    if isinstance(max_records, int) and max_records > 0:
        return min(int(max_records), sys.maxsize)
    raise IllegalArgumentError(f"max_records {shown(max_records)}: give a whole number from 1 on")


def time_of(time_ms: object, what: str) -> int:
    """A point in time, in whole milliseconds since the epoch.

    Raises:
        IllegalArgumentError: no number, or below 0; names what it is for.
    """
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float) or time_ms < 0:
        raise IllegalArgumentError(
            f"time {shown(time_ms)} of {what}: give milliseconds since the epoch"
        )
    return int(min(time_ms, _MOST_OFFSET))
