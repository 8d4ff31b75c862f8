"""Arithmetic on offsets: how much to read at a time, and in how many tasks. Pure.

Source: Spark 4.2 ``KafkaOffsetRangeCalculator`` (``divide``) and
``KafkaMicroBatchStream.rateLimit`` (``rate_limit``). Both are followed to the bit, double precision
included: a query that changes from Spark's source to this one is cut into the same batches and the
same tasks.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition

MAX_TASKS = 1_000_000
"""More tasks than this for one batch no driver can plan."""


def divide(
    ranges: Iterable[OffsetRange],
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
) -> tuple[OffsetRange, ...]:
    """Divide ranges into one for each task; empty ones are left out.

    First no piece may be larger than ``max_records_per_partition``; then, where that gives fewer
    pieces than ``min_partitions``, large ones are cut on, by their share of the whole. The number
    is met about, not exactly: shares are rounded. The pieces of a range are in order, one after
    the other, and differ in size by at most one.

    Args:
        ranges: at most one for each partition.
        min_partitions: how many pieces there should be at least, positive.
        max_records_per_partition: how large a piece may be at most, positive.

    Raises:
        ConfigError: that would be more than ``MAX_TASKS`` pieces; names the option.
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
    """Cut by share of the whole; what is too small to be cut is left out of that whole."""
    total = sum(piece.count for piece in pieces)
    small = [piece for piece in pieces if _part_count(piece.count, total, wanted) == 1]
    # By partition as in Spark: where one piece of a partition is too small to be cut, none is.
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
    """Return end offsets for about ``max_offsets`` in all.

    Every partition gets its share by what it has to read. A share below one is rounded up, so
    that small partitions are not starved; others are rounded down.

    Args:
        start: where reading starts; a partition of ``latest`` that is not in here ends at its
            latest offset without being counted, so give its earliest offset.
        latest: where each partition ends now.
        max_offsets: the limit, positive.

    Returns:
        The end of every partition in ``latest``, never beyond that. It is before the start only
        where the latest offset is: there offsets got lost.
    """
    sizes = {tp: end - start[tp] for tp, end in latest.items() if tp in start and end > start[tp]}
    total = float(sum(sizes.values()))
    ends = dict(latest)
    for tp, size in sizes.items():
        share = max_offsets * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        ends[tp] = min(latest[tp], start[tp] + taken)
    return ends
