"""Divides offsets into batches and tasks. Pure.

Source: Spark 4.2 ``KafkaOffsetRangeCalculator`` (``divide``) and
    ``KafkaMicroBatchStream.rateLimit`` (``rate_limit``). Both are reproduced exactly, double
    precision included: a query that changes from Spark's source to this one has the same batches
    and tasks.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition

MAX_TASKS = 1_000_000
"""The maximum number of tasks that a driver can plan for one batch."""


def divide(
    ranges: Iterable[OffsetRange],
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> tuple[OffsetRange, ...]:
    """Divide ranges into one for each task; drop empty ones.

    First, ranges are cut into pieces of at most ``max_records_per_partition``; if these are fewer
    than ``min_partitions``, large pieces are cut further, by their share of the whole. Shares are
    rounded, so the number is approximate. The pieces of a range are in order, without gaps, and
    differ in size by at most one.

    Args:
        ranges: at most one for each partition.
        min_partitions: the minimum number of pieces, positive.
        max_records_per_partition: the maximum size of a piece, positive.

    Raises:
        ConfigError: the result would have more than ``MAX_TASKS`` pieces; names the option.
    """
    pieces = [range_ for range_ in ranges if range_.count > 0]
    if max_records_per_partition is not None:
        most = max_records_per_partition
        _check_tasks(
            "maxRecordsPerPartition", most, sum(-(-piece.count // most) for piece in pieces)
        )
        pieces = [part for piece in pieces for part in _cut(piece, -(-piece.count // most))]
    if min_partitions is None or min_partitions <= len(pieces):
        return tuple(pieces)
    _check_tasks(
        "minPartitions", min_partitions, min(min_partitions, sum(piece.count for piece in pieces))
    )
    return tuple(_spread(pieces, min_partitions))


def _spread(pieces: Sequence[OffsetRange], wanted: int) -> list[OffsetRange]:
    """Cut pieces by their share of the whole, not counting those that are too small to cut."""
    total = sum(piece.count for piece in pieces)
    small = [piece for piece in pieces if _part_count(piece.count, total, wanted) == 1]
    # By partition, as in Spark: if one piece of a partition is too small to cut, none is cut.
    uncut = {piece.topic_partition for piece in small}
    rest = total - sum(piece.count for piece in small)
    left = max(wanted - len(small), 1)
    return [
        part
        for piece in pieces
        for part in _cut(
            piece, 1 if piece.topic_partition in uncut else _part_count(piece.count, rest, left)
        )
    ]


def _check_tasks(option: str, given: int, tasks: int) -> None:
    if tasks > MAX_TASKS:
        raise ConfigError(
            f"{option} is {given}: one batch would have {tasks} tasks, more than {MAX_TASKS}"
        )


def _part_count(count: int, total: int, wanted: int) -> int:
    # As Java rounds: half up.
    return max(math.floor(count / total * wanted + 0.5), 1)


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    pieces = []
    begin, remaining = whole.from_offset, whole.count
    parts = min(parts, remaining)
    for number in range(parts):
        size = remaining // (parts - number)
        remaining -= size
        pieces.append(OffsetRange(whole.topic_partition, begin, begin + size))
        begin += size
    return pieces


def rate_limit(
    start: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    max_offsets: int,
) -> dict[TopicPartition, int]:
    """Return the ends of a batch of about ``max_offsets`` offsets in total.

    Every partition gets a share in proportion to its unread offsets. A share below one is rounded
    up, so that small partitions are not starved; others are rounded down.

    Args:
        start: the start of each partition; a partition of ``latest`` that is missing here ends at
            its latest offset without being counted, so its earliest offset should be given.
        latest: the log end of each partition.
        max_offsets: the limit, positive.

    Returns:
        The end of every partition in ``latest``, never after the latest offset. It is before the
        start only if the latest offset is, which means that offsets were lost.
    """
    sizes = {tp: end - start[tp] for tp, end in latest.items() if tp in start and end > start[tp]}
    total = float(sum(sizes.values()))
    ends = dict(latest)
    for tp, size in sizes.items():
        share = max_offsets * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        ends[tp] = min(latest[tp], start[tp] + taken)
    return ends
