"""Where a group goes on in the target of a mirror, by the lines of its offsets file. Pure.

The one rule: nothing is passed over. A group that stood at an offset goes on at the first place in
the target from which on all messages lie that it had not read. Copies that a killed mirror left may
come to it again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.mirror.landed import Landed, Line
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True)
class Translation:
    """Where a group goes on.

    Attributes:
        offsets: the next offset to read of each target partition.
        not_yet: the source partitions whose messages before the group's offset are not all in
            the lines: wait for the mirror.
    """

    offsets: Mapping[TopicPartition, int]
    not_yet: frozenset[TopicPartition]


def translate(committed: Mapping[TopicPartition, int], lines: Iterable[Line]) -> Translation:
    """Translate the offsets of a group.

    Args:
        committed: the next offset to read of each source partition.
        lines: of the offsets files of all mirrors.

    Returns:
        The offsets in the target. Partitions without any line are ``not_yet``, unless the group
        stands at 0 there.
    """
    landed = [line for line in lines if isinstance(line, Landed) and line.source in committed]
    reached: dict[TopicPartition, int] = {}
    ends: dict[TopicPartition, int] = {}
    firsts: dict[TopicPartition, int] = {}
    for line in landed:
        source, target = line.source, line.target
        reached[source] = max(reached.get(source, 0), line.until_offset)
        ends[target] = max(ends.get(target, 0), line.target_offset + line.count)
        first = _first_from(line, committed[source])
        if first is not None:
            firsts[target] = min(first, firsts.get(target, first))
    return Translation(
        offsets={target: firsts.get(target, end) for target, end in ends.items()},
        not_yet=frozenset(tp for tp, offset in committed.items() if reached.get(tp, 0) < offset),
    )


def _first_from(line: Landed, offset: int) -> int | None:
    """Return where the first message from an offset on is; None: all are before it."""
    at = line.target_offset
    for start, until in line.runs:
        if until > offset:
            return at + max(0, offset - start)
        at += until - start
    return None
