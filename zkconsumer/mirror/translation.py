"""Translates a group's offsets to the target of a mirror, by its offsets file. Pure.

No message is ever skipped: in each target partition a group continues at the first message that it
had not read. It may read copies that a killed mirror left.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.mirror.landed import Landed, Line, ReadFrom, ReadUntil, Run
from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True)
class GroupTranslation:
    """The offsets at which a group continues.

    Attributes:
        offsets: the next offset to read of each target partition.
        not_yet: the source partitions that no mirror has read up to the group's offset yet.
        unread: the source partitions whose mirror began after the group's offset, with the offset
            where it began: messages in between, if any, are not in the target.
        without: the source partitions of which nothing was mirrored and nothing was read.
    """

    offsets: Mapping[TopicPartition, int]
    not_yet: frozenset[TopicPartition]
    unread: Mapping[TopicPartition, int]
    without: frozenset[TopicPartition]


def translate(committed: Mapping[TopicPartition, int], lines: Iterable[Line]) -> GroupTranslation:
    """Translate the offsets of a group.

    Args:
        committed: the next offset to read of each source partition.
        lines: the lines of the offsets files of all mirrors.

    Returns:
        The offsets in the target. Partitions without any line are ``not_yet``, unless the group's
        offset is 0.
    """
    lines = list(lines)
    topics = {tp.topic for tp in committed}
    landed = [line for line in lines if isinstance(line, Landed) and line.source.topic in topics]
    # With partitioning by key, a target partition also has messages of source partitions for
    # which the group has no offset.
    ours = {line.target for line in landed if line.source in committed}
    reached: dict[TopicPartition, int] = {}
    ends: dict[TopicPartition, int] = {}
    firsts: dict[TopicPartition, int] = {}
    for line in (line for line in landed if line.target in ours):
        source, target = line.source, line.target
        reached[source] = max(reached.get(source, 0), line.until_offset)
        ends[target] = max(ends.get(target, 0), line.target_offset + line.count)
        first = _first_from(line, committed.get(source, 0))
        if first is not None:
            firsts[target] = min(first, firsts.get(target, first))
    read = reached.copy()
    for until in (line for line in lines if isinstance(line, ReadUntil)):
        read[until.source] = max(read.get(until.source, 0), until.offset)
    not_yet = frozenset(tp for tp, offset in committed.items() if read.get(tp, 0) < offset)
    return GroupTranslation(
        offsets={target: firsts.get(target, end) for target, end in ends.items()},
        not_yet=not_yet,
        unread=_unread(committed, lines),
        without=frozenset(committed.keys() - reached.keys() - not_yet),
    )


def _unread(
    committed: Mapping[TopicPartition, int], lines: Iterable[Line]
) -> dict[TopicPartition, int]:
    """Return where reading resumed after a group's offset, if messages in between were not read.

    When a partition comes back, or a mirror restarts, reading begins where it ended; if it begins
    after that, others have read the messages in between, or nobody has.
    """
    spans: dict[TopicPartition, list[Run]] = {}
    nexts: dict[TopicPartition, int] = {}
    for line in lines:
        tp = line.source
        if tp not in committed:
            continue
        read = spans.setdefault(tp, [])
        offset, until = line.first_offset, line.until_offset
        if isinstance(line, ReadFrom) or not read or offset < read[-1][0]:
            read.append((offset, until))
        read[-1] = (read[-1][0], max(until, read[-1][1]))
        if isinstance(line, Landed) and until > committed[tp]:
            # The next mirrored message.
            after = next(
                max(start, committed[tp]) for start, end in line.runs if end > committed[tp]
            )
            nexts[tp] = min(after, nexts.get(tp, after))
    found = {}
    for tp, read in spans.items():
        offset, until = committed[tp], -1
        for start, end in sorted(read):
            if start <= max(offset, until):
                until = max(until, end)
            elif until < offset or nexts.get(tp, start) >= start:
                found[tp] = start
                break
            else:
                break
    return found


def _first_from(line: Landed, offset: int) -> int | None:
    """Return the target offset of the first message from a source offset on, or None."""
    at = line.target_offset
    for start, until in line.runs:
        if until > offset:
            return at + max(0, offset - start)
        at += until - start
    return None
