"""The query for messages of a topic. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from zkconsumer.browse.decoding import Form
from zkconsumer.browse.filters import MessageFilter
from zkconsumer.model import OffsetRange, TopicPartition

SCANNED: Final = 10_000
"""A query for the last messages covers this many offsets of a partition, or its limit if larger."""
UNKNOWN: Final = -1
"""The position in a partition whose log was unknown: the log's end, once that is known."""
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """A request for messages.

    Attributes:
        topic: the topic.
        partition: one partition; None: all.
        start: where to start: at the ``last`` messages, at an ``offset``, at a ``time``, or at the
            ``positions`` after an earlier query.
        at: the offset, or the time in ms since the epoch; unused with the other two.
        positions: the offset to start at in each partition, from ``BrowseResult``.
        limit: the maximum number of messages.
        passes: the filter that messages have to pass; None: all do.
        form: the form to show bytes in.
    """

    topic: str
    partition: int | None = None
    start: Literal["last", "offset", "time", "positions"] = "last"
    at: int = 0
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    limit: int = 50
    passes: MessageFilter | None = None
    form: Form = "auto"

    def __str__(self) -> str:
        where = "" if self.partition is None else f"-{self.partition}"
        begins = {"last": "the last ones", "positions": "new ones"}
        start = begins.get(self.start, f"from {self.start} {self.at}")
        filtered = ", filtered" if self.passes is not None else ""
        return f"{self.topic}{where}: {start}, at most {self.limit}{filtered}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseLimits:
    """The limits of one query.

    Attributes:
        max_bytes: the maximum bytes of keys, values and headers to scan, all partitions together.
        max_ms: the maximum duration of the query.
    """

    max_bytes: int = 32 << 20
    max_ms: int = 10_000


def ranges_of(
    query: MessageQuery,
    logs: Mapping[TopicPartition, tuple[int, int]],
    since: Mapping[TopicPartition, int],
) -> Sequence[OffsetRange]:
    """Return the offsets to scan, sorted by partition, or in the order of the query's positions.

    Args:
        query: the request.
        logs: start and end of each log.
        since: the offsets at the requested time; -1 or missing: all messages are older.
    """
    ranges = []
    turns = {tp: turn for turn, tp in enumerate(query.positions)}
    for tp, (first, end) in sorted(logs.items(), key=lambda log: (turns.get(log[0], -1), log[0])):
        match query.start:
            case "offset":
                begin = query.at
            case "time":
                found = since.get(tp, -1)
                begin = end if found < 0 else found
            case "positions":
                position = query.positions.get(tp, first)
                begin = end if position == UNKNOWN else position
            case _:
                begin = end - max(query.limit, SCANNED)
        if max(begin, first) < end:
            ranges.append(
                OffsetRange(topic_partition=tp, from_offset=max(begin, first), until_offset=end)
            )
    return ranges


def positions_after(
    query: MessageQuery,
    partitions: Sequence[TopicPartition],
    logs: Mapping[TopicPartition, tuple[int, int]],
    read: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, int]:
    """Return where a query that continues this one starts; partitions not read now come first.

    Args:
        query: this query.
        partitions: the partitions that it covers.
        logs: start and end of the known logs.
        read: the next offset of each partition that was read.
    """
    if query.start != "positions":
        return {tp: logs[tp][1] if tp in logs else UNKNOWN for tp in partitions}
    positions = {tp: at for tp, at in query.positions.items() if tp not in read}
    for tp, (_, end) in logs.items():
        if positions.get(tp) == UNKNOWN:
            positions[tp] = end
    return {**positions, **read}


def skipped_offsets(
    query: MessageQuery, logs: Mapping[TopicPartition, tuple[int, int]]
) -> Iterator[str]:
    """Yield the reasons why a query from positions misses messages."""
    for tp, (first, end) in logs.items():
        position = query.positions.get(tp, first)
        if position > end:
            yield (
                f"{tp}: its log ends before offset {position}, where reading will go on: its "
                "new leader is behind, or it was truncated or created again"
            )
        elif UNKNOWN < position < first:
            yield f"{tp}: offsets {position} to {first} were deleted before they were read"


def backwards(range_: OffsetRange, size: int) -> Iterator[OffsetRange]:
    """Cut a range into pieces, and yield them from the last to the first.

    Args:
        range_: the range.
        size: the size of the first piece, in offsets; each further one is four times as large.
    """
    until = range_.until_offset
    while until > range_.from_offset:
        begin = max(range_.from_offset, until - size)
        yield replace(range_, from_offset=begin, until_offset=until)
        until, size = begin, _GROWTH * size
