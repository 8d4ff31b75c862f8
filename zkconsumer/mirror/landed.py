"""The offsets of source messages in the target, as values and as lines of the offsets file. Pure.

A line is one acknowledged set, as a JSON object: the source's ``topic`` and ``partition``, its
``offsets`` as a list of ``[from, until)`` runs in order, ``target_topic``, ``target_partition``,
and the ``target_offset`` of the first message. In the target the messages are consecutive. When a
process begins to read a partition, a line with ``from`` instead of ``offsets`` records the first
offset: all messages from there on must be in lines. If the log has no messages right before an
offset to commit, a line with ``until`` first records that everything before it was read.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zkconsumer.errors import MirrorError
from zkconsumer.model import TopicPartition

Run = tuple[int, int]
"""Consecutive offsets: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Landed:
    """Messages of one source partition that are consecutive in one target partition.

    Attributes:
        source: the source partition.
        runs: their source offsets, ascending.
        target: the target partition.
        target_offset: the first message's offset in the target.
    """

    source: TopicPartition
    runs: tuple[Run, ...]
    target: TopicPartition
    target_offset: int

    @property
    def count(self) -> int:
        """The number of messages."""
        return sum(until - start for start, until in self.runs)

    @property
    def first_offset(self) -> int:
        """The source offset of the first message."""
        return self.runs[0][0]

    @property
    def until_offset(self) -> int:
        """The source offset after the last message."""
        return self.runs[-1][1]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Iterate over the source and target offset of each message."""
        at = self.target_offset
        for start, until in self.runs:
            for offset in range(start, until):
                yield offset, at
                at += 1


@dataclass(frozen=True, slots=True)
class _Bound:
    """An offset of a source partition, as a range without messages."""

    source: TopicPartition
    offset: int

    @property
    def first_offset(self) -> int:
        """The offset."""
        return self.offset

    until_offset = first_offset


class ReadFrom(_Bound):
    """Records the first offset of a partition that a process mirrors; no earlier one is its own."""

    __slots__ = ()


class ReadUntil(_Bound):
    """Records the first offset that a process has not read of a partition, without a gap before."""

    __slots__ = ()


Line = Landed | ReadFrom | ReadUntil


def runs_of(offsets: Sequence[int], gap: int = 1) -> tuple[Run, ...]:
    """Return ascending offsets as runs, with those merged that are at most ``gap`` apart."""
    runs: list[Run] = []
    start = before = offsets[0]
    if offsets[-1] - start == len(offsets) - 1:
        return ((start, offsets[-1] + 1),)
    for offset in offsets[1:]:
        if not before < offset <= before + gap:
            runs.append((start, before + 1))
            start = offset
        before = offset
    runs.append((start, before + 1))
    return tuple(runs)


def joined_runs(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return ascending runs with adjacent ones merged."""
    joined: list[Run] = []
    for start, until in runs:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], until)
        else:
            joined.append((start, until))
    return tuple(joined)


def to_line(landed: Line) -> bytes:
    """Return a line of the offsets file, with its newline."""
    line: dict[str, object] = {
        "topic": landed.source.topic,
        "partition": landed.source.partition,
    }
    if isinstance(landed, Landed):
        line |= {
            "offsets": [list(run) for run in landed.runs],
            "target_topic": landed.target.topic,
            "target_partition": landed.target.partition,
            "target_offset": landed.target_offset,
        }
    else:
        line["from" if isinstance(landed, ReadFrom) else "until"] = landed.offset
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def from_line(line: bytes, location: str) -> Line:
    """Parse a line of the offsets file, with or without its newline.

    Raises:
        MirrorError: the line is malformed.
    """
    try:
        fields = json.loads(line)
        source = TopicPartition(_text(fields["topic"]), _number(fields["partition"]))
        if "from" in fields:
            return ReadFrom(source, _number(fields["from"]))
        if "until" in fields:
            return ReadUntil(source, _number(fields["until"]))
        landed = Landed(
            source,
            tuple((_number(start), _number(until)) for start, until in fields["offsets"]),
            TopicPartition(_text(fields["target_topic"]), _number(fields["target_partition"])),
            _number(fields["target_offset"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise MirrorError(f"{location} is not a line of an offsets file: {error!r}") from error
    ends = [edge for run in landed.runs for edge in run]
    if not ends or ends != sorted(ends) or any(start >= until for start, until in landed.runs):
        raise MirrorError(f"{location} does not have ascending offsets")
    return landed


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is not a number")
    return value
