"""Combines the lines of an offsets file, and compares them with the logs. Pure.

A message is mirrored if a line names its offset and the target has the same key and value at that
line's target offset. Each further line that names it stands for a copy.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from zkconsumer.mirror.landed import Landed, Line, Run, runs_of
from zkconsumer.model import TopicPartition

TargetOffset = tuple[TopicPartition, int]
"""A partition of the target, and an offset in it."""

_SHOWN = 20


def digest_of(key: bytes | None, value: bytes | None) -> bytes:
    """Return the digest by which messages are compared; null and empty differ."""
    digest = blake2b(digest_size=16)
    for part in (key, value):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    return digest.digest()


class Lines:
    """The lines of one source partition.

    Args:
        lines: the lines in any order; at least one.

    Attributes:
        start: the first offset that should be in a line.
        until: the offset after the last one that is in a line.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        every = list(lines)
        self._landed = sorted(
            (line for line in every if isinstance(line, Landed)), key=lambda line: line.first_offset
        )
        self.start = min(line.first_offset for line in every)
        self.until = max((line.until_offset for line in self._landed), default=self.start)
        lengths = (line.until_offset - line.first_offset for line in self._landed)
        self._longest = max(lengths, default=0)
        self._firsts = [line.first_offset for line in self._landed]

    def locations(self, start: int, until: int) -> dict[int, list[TargetOffset]]:
        """Return the target offsets of the messages in a range, as far as lines name them."""
        found: dict[int, list[TargetOffset]] = {}
        for line in self._landed[bisect_left(self._firsts, start - self._longest) :]:
            if line.first_offset >= until:
                break
            for offset, at in line.pairs():
                if start <= offset < until:
                    found.setdefault(offset, []).append((line.target, at))
        return found


@dataclass(slots=True)
class MirroredPartition:
    """The proof of one source partition.

    Attributes:
        source: the partition.
        start: the first offset that should be in a line.
        until: the committed offset: messages before it should be mirrored.
        messages: the number of messages that the source has in that range.
        mirrored: the number of them that the target has, with the same key and value.
        copies: the number of duplicates that further lines name.
        missing: the number of messages that no line names.
        different: the number of messages that differ in the target, or are absent there.
        unproven: the number of messages that could not be compared, since a log has deleted them.
        examples: the offsets of the first faults.
    """

    source: TopicPartition
    start: int
    until: int
    messages: int = 0
    mirrored: int = 0
    copies: int = 0
    missing: int = 0
    different: int = 0
    unproven: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Whether every message is mirrored."""
        return not (self.missing or self.different or self.unproven)

    def judge(
        self,
        source: Mapping[int, bytes],
        locations: Mapping[int, list[TargetOffset]],
        target: Mapping[TargetOffset, bytes],
        target_starts: Mapping[TopicPartition, int],
    ) -> None:
        """Add the result for a range.

        Args:
            source: the digests of the source's messages.
            locations: the target offsets at which they should be.
            target: the digests of the target's messages.
            target_starts: the target's log start offsets.
        """
        for offset, digest in source.items():
            self.messages += 1
            named = locations.get(offset, [])
            if not named:
                self.missing += 1
                self._note(f"offset {offset} is not in any line")
                continue
            kept = [place for place in named if place[1] >= target_starts.get(place[0], 0)]
            wrong = [place for place in kept if target.get(place) != digest]
            if wrong:
                right = next((place for place in kept if place not in wrong), None)
                self.different += 1
                self._note(_difference(offset, wrong[0], right, is_there=wrong[0] in target))
            elif not kept:
                self.unproven += 1
            else:
                self.mirrored += 1
                self.copies += len(named) - 1

    def _note(self, text: str) -> None:
        if len(self.examples) < _SHOWN:
            self.examples.append(text)


def _difference(
    offset: int, wrong: TargetOffset, right: TargetOffset | None, *, is_there: bool
) -> str:
    """Describe how the target differs, and why, as far as is known.

    Args:
        offset: the source offset of the message.
        wrong: the target offset at which the message should be, but is not.
        right: the target offset at which it is, according to another line; None: there is none.
        is_there: whether the target has a message at the wrong offset.
    """
    at, number = wrong
    text = f"offset {offset} should be at offset {number} of {at}, but is not"
    if not is_there:
        return f"{text}: no message is there"
    if right is None:
        return (
            f"{text}: another message is there, so since it was mirrored the source's log was "
            "truncated and written again (an unclean election), or its topic was created again, or "
            "others write to the target"
        )
    if right[0] == at and right[1] > number:
        return (
            f"{text}; it is at offset {right[1]}: the source's log was truncated after it was "
            "mirrored and written again (an unclean election), and then mirrored again; what was "
            "there before is in the target, too"
        )
    return (
        f"{text}; it is at offset {right[1]} of {right[0]}: another message is there, so the "
        "target's log was truncated and written again, or others write to the target"
    )


def by_source(lines: Iterable[Line]) -> dict[TopicPartition, Lines]:
    """Return the lines of each source partition, sorted."""
    found: dict[TopicPartition, list[Line]] = {}
    for line in lines:
        found.setdefault(line.source, []).append(line)
    return {tp: Lines(of_tp) for tp, of_tp in sorted(found.items())}


def ranges_of(
    locations: Iterable[TargetOffset], *, gap: int
) -> Iterator[tuple[TopicPartition, Run]]:
    """Yield the target ranges to read for these locations, with near ranges merged."""
    by_target: dict[TopicPartition, list[int]] = {}
    for target, offset in locations:
        by_target.setdefault(target, []).append(offset)
    for target, offsets in sorted(by_target.items()):
        for run in runs_of(sorted(offsets), gap):
            yield target, run


def offsets_without_line(
    landed: Iterable[Landed], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Count the offsets of each target partition that no line names, from its first line on.

    They hold copies whose acknowledgement was lost, other producers' messages, or no message.

    Args:
        landed: all lines.
        ends: the ends of the target's logs; if one is missing, no offset after the last line
            is counted.
    """
    found: dict[TopicPartition, int] = {}
    for target, of_target in _target_runs(landed):
        listed, seen_until = 0, of_target[0][0]
        for start, until in of_target:
            listed += max(0, until - max(start, seen_until))
            seen_until = max(seen_until, until)
        found[target] = max(seen_until, ends.get(target, seen_until)) - of_target[0][0] - listed
    return found


def claimed_twice(landed: Iterable[Landed]) -> dict[TopicPartition, int]:
    """Count the offsets of each target partition that several lines name.

    Each acknowledgement has offsets of its own: a log that assigned an offset twice has lost the
    earlier message. Identical lines count once.
    """
    found: dict[TopicPartition, int] = {}
    for target, of_target in _target_runs(dict.fromkeys(landed)):
        seen_until = 0
        for start, until in of_target:
            twice = min(until, seen_until) - start
            if twice > 0:
                found[target] = found.get(target, 0) + twice
            seen_until = max(seen_until, until)
    return found


def _target_runs(landed: Iterable[Landed]) -> list[tuple[TopicPartition, list[Run]]]:
    """Return the offsets that lines name in each target partition, sorted."""
    runs: dict[TopicPartition, list[Run]] = {}
    for line in landed:
        run = (line.target_offset, line.target_offset + line.count)
        runs.setdefault(line.target, []).append(run)
    return sorted((target, sorted(of_target)) for target, of_target in runs.items())
