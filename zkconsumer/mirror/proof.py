"""What the lines of an offsets file say together, and what is found when they are looked up. Pure.

A message is mirrored if a line names its offset and the target has the same key and value there.
Each further line that names it is a copy.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from zkconsumer.mirror.landed import Began, Landed, Line, Run
from zkconsumer.model import TopicPartition

Place = tuple[TopicPartition, int]
"""A partition of the target, and an offset there."""

_SHOWN = 20


def digest_of(key: bytes | None, value: bytes | None) -> bytes:
    """Return what tells messages apart: null is not empty."""
    digest = blake2b(digest_size=16)
    for part in (key, value):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    return digest.digest()


class Lines:
    """The lines of one partition of the source.

    Args:
        lines: in any order; at least one.

    Attributes:
        start: the first offset that should be in a line.
        until: behind the last one that is.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        every = list(lines)
        self._landed = sorted(
            (landed_run for landed_run in every if isinstance(landed_run, Landed)),
            key=lambda landed_run: landed_run.first_offset,
        )
        self.start = min(
            landed_run.offset if isinstance(landed_run, Began) else landed_run.first_offset
            for landed_run in every
        )
        self.until = max(
            (landed_run.until_offset for landed_run in self._landed), default=self.start
        )
        self._longest = max(
            (landed_run.until_offset - landed_run.first_offset for landed_run in self._landed),
            default=0,
        )
        self._firsts = [landed_run.first_offset for landed_run in self._landed]

    def locations(self, start: int, until: int) -> dict[int, list[Place]]:
        """Return where the messages of these offsets are, those that a line names."""
        found: dict[int, list[Place]] = {}
        for landed_run in self._landed[bisect_left(self._firsts, start - self._longest) :]:
            if landed_run.first_offset >= until:
                break
            for offset, at in landed_run.pairs():
                if start <= offset < until:
                    found.setdefault(offset, []).append((landed_run.target, at))
        return found


@dataclass(slots=True)
class MirroredPartition:
    """What was found out about one partition of the source.

    Attributes:
        source: which.
        start: the first offset that should be in a line.
        until: up to here it should be mirrored: what is committed.
        messages: how many the source has there.
        mirrored: how many of them the target has, with the same key and value.
        copies: how many of them it has once more, by further lines.
        missing: how many no line names.
        different: how many are something else there, or nothing.
        unproven: how many could not be looked at, since a log does not have them any more.
        examples: where the first faults are.
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
        """Whether every message is where it should be."""
        return not (self.missing or self.different or self.unproven)

    def judge(
        self,
        source: Mapping[int, bytes],
        locations: Mapping[int, list[Place]],
        target: Mapping[Place, bytes],
        target_starts: Mapping[TopicPartition, int],
    ) -> None:
        """Add what was found of a range.

        Args:
            source: the digest of each message that the source has.
            locations: where they should be.
            target: the digest of what is there.
            target_starts: where the target's logs begin now.
        """
        for offset, digest in source.items():
            self.messages += 1
            named = locations.get(offset, [])
            if not named:
                self.missing += 1
                self._note(f"offset {offset} is in no line")
                continue
            kept = [place for place in named if place[1] >= target_starts.get(place[0], 0)]
            wrong = [place for place in kept if target.get(place) != digest]
            if wrong:
                at, number = wrong[0]
                self.different += 1
                self._note(f"offset {offset} should be at offset {number} of {at}, and is not")
            elif not kept:
                self.unproven += 1
            else:
                self.mirrored += 1
                self.copies += len(named) - 1

    def _note(self, text: str) -> None:
        if len(self.examples) < _SHOWN:
            self.examples.append(text)


def by_source(lines: Iterable[Line]) -> dict[TopicPartition, Lines]:
    """Return the lines of each partition of the source, sorted."""
    found: dict[TopicPartition, list[Line]] = {}
    for landed_run in lines:
        found.setdefault(landed_run.source, []).append(landed_run)
    return {tp: Lines(of_tp) for tp, of_tp in sorted(found.items())}


def ranges_of(locations: Iterable[Place], *, gap: int) -> Iterator[tuple[TopicPartition, Run]]:
    """What to read of the target to see these places: what is nearly together is one range."""
    by_target: dict[TopicPartition, list[int]] = {}
    for target, offset in locations:
        by_target.setdefault(target, []).append(offset)
    for target, offsets in sorted(by_target.items()):
        offsets.sort()
        start = before = offsets[0]
        for offset in offsets[1:]:
            if offset > before + gap:
                yield target, (start, before + 1)
                start = offset
            before = offset
        yield target, (start, before + 1)


def unlisted(
    landed: Iterable[Landed], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """How many offsets of each partition of the target no line names, from its first line on.

    They are copies whose acknowledgement was lost, what somebody else wrote there, or no messages.

    Args:
        landed: all lines.
        ends: where the logs of the target end.
    """
    runs: dict[TopicPartition, list[Run]] = {}
    for landed_run in landed:
        runs.setdefault(landed_run.target, []).append(
            (landed_run.target_offset, landed_run.target_offset + landed_run.count)
        )
    found: dict[TopicPartition, int] = {}
    for target, of_target in sorted(runs.items()):
        of_target.sort()
        listed, behind = 0, of_target[0][0]
        for start, until in of_target:
            listed += max(0, until - max(start, behind))
            behind = max(behind, until)
        found[target] = max(behind, ends.get(target, behind)) - of_target[0][0] - listed
    return found


def claimed_twice(landed: Iterable[Landed]) -> dict[TopicPartition, int]:
    """Return how many offsets of each partition of the target several lines name.

    Each acknowledgement has offsets of its own: a log that gave them out twice has lost what was
    there first, whatever is there now. A line that is there twice is one.
    """
    runs: dict[TopicPartition, list[Run]] = {}
    for landed_run in dict.fromkeys(landed):
        runs.setdefault(landed_run.target, []).append(
            (landed_run.target_offset, landed_run.target_offset + landed_run.count)
        )
    found: dict[TopicPartition, int] = {}
    for target, of_target in sorted(runs.items()):
        behind = 0
        for start, until in sorted(of_target):
            twice = min(until, behind) - start
            if twice > 0:
                found[target] = found.get(target, 0) + twice
            behind = max(behind, until)
    return found
