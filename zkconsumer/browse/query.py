"""The query for messages of a topic. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from zkconsumer.browse.decoding import Form
from zkconsumer.browse.filters import MessageFilter
from zkconsumer.model import OffsetRange, TopicPartition

SCANNED: Final = 10_000
"""How many of the last offsets of a partition are looked through, at least."""
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageQuery:
    """A request for messages.

    Attributes:
        topic: the topic.
        partition: one partition; None: all.
        start: from the ``last`` ones, from an ``offset``, or from a ``time``.
        at: the offset, or the time in ms since the epoch; not used for the last ones.
        limit: the maximum number of messages.
        passes: which messages are wanted, by what their bytes seem to be; None: all.
        form: what bytes are shown as.
    """

    topic: str
    partition: int | None = None
    start: Literal["last", "offset", "time"] = "last"
    at: int = 0
    limit: int = 50
    passes: MessageFilter | None = None
    form: Form = "auto"

    def __str__(self) -> str:
        where = "" if self.partition is None else f"-{self.partition}"
        start = "the last" if self.start == "last" else f"from {self.start} {self.at}"
        filtered = ", filtered" if self.passes is not None else ""
        return f"{self.topic}{where}: {start}, at most {self.limit}{filtered}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseLimits:
    """How much one look may read.

    Attributes:
        max_bytes: of keys, values and headers that are scanned, all partitions together.
        max_ms: for all of it.
    """

    max_bytes: int = 32 << 20
    max_ms: int = 10_000


def ranges_of(
    query: MessageQuery,
    logs: Mapping[TopicPartition, tuple[int, int]],
    since: Mapping[TopicPartition, int],
) -> Sequence[OffsetRange]:
    """Return the offsets to scan, ascending by partition.

    Args:
        query: the request.
        logs: start and end of each log.
        since: the offsets at the requested time; -1 or missing: nothing is that young.
    """
    ranges = []
    for tp, (first, end) in sorted(logs.items()):
        match query.start:
            case "offset":
                begin = query.at
            case "time":
                found = since.get(tp, -1)
                begin = end if found < 0 else found
            case _:
                begin = end - max(query.limit, SCANNED)
        if max(begin, first) < end:
            ranges.append(
                OffsetRange(topic_partition=tp, from_offset=max(begin, first), until_offset=end)
            )
    return ranges


def backwards(range_: OffsetRange, size: int) -> Iterator[OffsetRange]:
    """Cut a range into pieces, the last of them first.

    Args:
        range_: the range.
        size: of the first piece, in offsets; each further one is four times as large.
    """
    until = range_.until_offset
    while until > range_.from_offset:
        begin = max(range_.from_offset, until - size)
        yield replace(range_, from_offset=begin, until_offset=until)
        until, size = begin, _GROWTH * size
