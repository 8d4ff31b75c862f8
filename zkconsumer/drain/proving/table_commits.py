"""Compare an Iceberg table's snapshots with the drain's own record. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from zkconsumer.model import OffsetRange
from zkconsumer.printable import listed

Offsets = frozenset[tuple[str, int, int, int]]
"""Ranges: topic, partition, the first offset and the one after the last."""


class TableCommit(NamedTuple):
    """The batch of a snapshot, as its summary describes it."""

    number: int
    offsets: Offsets


def offsets_of(ranges: Iterable[OffsetRange]) -> Offsets:
    """Return ranges as the table's snapshots have them."""
    return frozenset(
        (*part.topic_partition, part.from_offset, part.until_offset) for part in ranges
    )


def compare_commits(
    landed: Mapping[int, Offsets], commits: Iterable[TableCommit], *, is_whole: bool
) -> list[str]:
    """Return the contradictions to the record, one sentence each.

    Args:
        landed: the ranges of each batch that is looked at.
        commits: those that lead to the table's current snapshot.
        is_whole: whether none of them has expired; where some have, the table says nothing of the
            batches before those that are left.
    """
    found: dict[int, list[Offsets]] = {}
    for commit in commits:
        found.setdefault(commit.number, []).append(commit.offsets)
    told_from = 1 if is_whole else min(found, default=max(landed, default=0) + 1)
    missing = [number for number in landed if number >= told_from and number not in found]
    twice = [number for number in found if len(found[number]) > 1]
    other = [
        number
        for number, offsets in landed.items()
        if number in found and {*found[number]} != {offsets}
    ]
    return [
        *_described("are in no snapshot that leads to the table's current one", missing),
        *_described("are in more than one snapshot of the table", twice),
        *_described("have other offsets in the table's snapshots than were landed", other),
    ]


def _described(what: str, numbers: list[int]) -> list[str]:
    return [f"{len(numbers)} batches {what}: {listed(sorted(numbers))}"] if numbers else []
