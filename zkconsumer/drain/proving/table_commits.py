"""Summarizes batches in the commits of a drain's table, and compares commits with the record. Pure.

The summary of a commit names the drain, the batch and its offsets. In an Iceberg table it is the
summary of a snapshot, in a Delta table the ``userMetadata`` of a commit.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from zkconsumer.model import OffsetRange
from zkconsumer.printable import listed

DRAIN, BATCH, OFFSETS = "zkconsumer.drain", "zkconsumer.batch", "zkconsumer.offsets"

Offsets = frozenset[tuple[str, int, int, int]]
"""Offset ranges: topic, partition, the first offset and the offset after the last."""


class TableCommit(NamedTuple):
    """The batch of a commit, according to its summary."""

    number: int
    offsets: Offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table's current state, as readers see it.

    Attributes:
        files: the data files: paths below a Delta table's, or URIs.
        misplaced: the files whose partition in the table differs from their folders'.
        commits: the drain's commits that led to the current state, in any order.
        is_whole: whether these go back to the creation of the table by the drain.
    """

    files: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    commits: tuple[TableCommit, ...] = ()
    is_whole: bool = True


def offsets_of(ranges: Iterable[OffsetRange]) -> Offsets:
    """Convert ranges to the form in which commits are compared."""
    return frozenset(
        (*part.topic_partition, part.from_offset, part.until_offset) for part in ranges
    )


def summary_of(drain: str, number: int, ranges: Iterable[OffsetRange]) -> dict[str, str]:
    """Return the summary of a batch's commit, with offsets as ``{"weblog": {"0": [100, 200]}}``."""
    found: dict[str, Any] = {}
    for topic, partition, begin, end in sorted(offsets_of(ranges)):
        found.setdefault(topic, {})[str(partition)] = [begin, end]
    return {DRAIN: drain, BATCH: str(number), OFFSETS: json.dumps(found)}


def commit_of(summary: Mapping[str, object], drain: str) -> TableCommit | None:
    """Parse the summary of a commit; return None unless it names a batch of this drain."""
    number = summary.get(BATCH)
    if summary.get(DRAIN) != drain or not isinstance(number, str) or not number.isdecimal():
        return None
    return TableCommit(int(number), _parsed(summary.get(OFFSETS)))


def _parsed(text: object) -> Offsets:
    """Parse the offsets of a summary; return an empty set if they are malformed."""
    try:
        return frozenset(
            (topic, int(partition), int(begin), int(end))
            for topic, partitions in json.loads(text).items()  # type: ignore[arg-type]
            for partition, (begin, end) in partitions.items()
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return frozenset()


def compare_commits(
    landed: Mapping[int, Offsets], commits: Iterable[TableCommit], *, is_whole: bool
) -> list[str]:
    """Return the contradictions between commits and record, one sentence each.

    Args:
        landed: the ranges of each batch to verify.
        commits: the commits of the current snapshot and its ancestors.
        is_whole: whether no snapshot has expired; otherwise batches before the remaining ones can't
            be compared.
    """
    found: dict[int, list[Offsets]] = {}
    for commit in commits:
        found.setdefault(commit.number, []).append(commit.offsets)
    first_number = 1 if is_whole else min(found, default=max(landed, default=0) + 1)
    missing = [number for number in landed if number >= first_number and number not in found]
    twice = [number for number in found if len(found[number]) > 1]
    other = [
        number
        for number, offsets in landed.items()
        if number in found and {*found[number]} != {offsets}
    ]
    return [
        *_described("are in no commit of the current table", missing),
        *_described("are in more than one commit of the table", twice),
        *_described("have other offsets in the table's commits than were landed", other),
    ]


def _described(what: str, numbers: list[int]) -> list[str]:
    return [f"{len(numbers)} batches {what}: {listed(sorted(numbers))}"] if numbers else []
