"""Finds gaps, duplicates and strays among offsets that must exist exactly once. Pure.

A run is a range ``[from_offset, until_offset)`` whose offsets exist once in some place; a file has
one run or several, and two files may have the same run. The sweep walks along the offsets and
counts the runs over each range: none is a gap, two or more are duplicates, and a run outside the
wanted range is a stray.

A gap can be excused, and is then reported as such: the log no longer had the offsets at reading
(expired), or compaction had removed them between retained neighbours (compacted).

Memory is bounded whatever the damage: findings are counted in full, but only the first ``SHOWN``
ranges of each kind are kept.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

SHOWN = 1_000
"""The maximum number of ranges to keep for each kind of finding."""


class Run(NamedTuple):
    """The offsets from ``from_offset`` up to ``until_offset``, exclusive."""

    from_offset: int
    until_offset: int

    @property
    def length(self) -> int:
        """The number of its offsets."""
        return self.until_offset - self.from_offset

    def __str__(self) -> str:
        return f"[{self.from_offset}, {self.until_offset})"


class Discrepancy(StrEnum):
    """The reason why a range of offsets does not exist exactly once."""

    GAP = "gap"
    """Wanted, missing, and not excused."""
    DUPLICATE = "duplicate"
    """Existing more than once."""
    STRAY = "stray"
    """Existing, although it was never wanted."""
    EXPIRED = "expired"
    """Deleted by the retention of the log before it could be read."""
    COMPACTED = "compacted"
    """Removed by compaction; the log still had its neighbours."""


EXCUSED = frozenset({Discrepancy.EXPIRED, Discrepancy.COMPACTED})
"""The kinds of gaps that are no fault of the log's reader."""


class CoveredRange(NamedTuple):
    """Consecutive offsets covered by the same number of runs, at least one."""

    run: Run
    copies: int


@dataclass(frozen=True, slots=True)
class CoverageRanges:
    """All ranges of one kind of finding.

    Attributes:
        offsets: the number of offsets in all of them; for duplicates, the number of surplus copies.
        ranges: the number of ranges.
        shown: the first ``SHOWN`` ranges, in order.
    """

    offsets: int = 0
    ranges: int = 0
    shown: tuple[Run, ...] = ()

    def __bool__(self) -> bool:
        return self.ranges > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The coverage of the wanted offsets of one topic-partition.

    Attributes:
        wanted: the wanted range.
        rows: the number of rows found, inside the range or not, counting every copy.
        findings: the ranges of each kind that occurs.
    """

    wanted: Run
    rows: int
    findings: Mapping[Discrepancy, CoverageRanges]

    @property
    def complete(self) -> bool:
        """Whether every offset that isn't excused exists exactly once, and no others exist."""
        return not (self.findings.keys() - EXCUSED)

    def of(self, kind: Discrepancy) -> CoverageRanges:
        """Return the ranges of one kind of finding; empty if there are none."""
        return self.findings.get(kind, CoverageRanges())


def sweep(found: Iterable[Run]) -> Iterator[CoveredRange]:
    """Yield each range of offsets that runs cover, with the number of runs, in order.

    Args:
        found: runs sorted by ``from_offset``, consumed one at a time; empty runs are ignored.

    Raises:
        ValueError: the runs are not sorted.
    """
    ends: list[int] = []
    at = last = None
    for run in found:
        if last is not None and run.from_offset < last:
            raise ValueError(f"runs must be sorted: {run} comes behind one from {last}")
        last = run.from_offset
        if run.length <= 0:
            continue
        if at is not None:
            yield from _covered_ranges(at, run.from_offset, ends)
        at = run.from_offset
        heapq.heappush(ends, run.until_offset)
    if at is not None:
        yield from _covered_ranges(at, max(ends), ends)


def _covered_ranges(at: int, limit: int, ends: list[int]) -> Iterator[CoveredRange]:
    """Yield the ranges from ``at`` to ``limit`` that open runs cover; close runs that end there."""
    while ends and ends[0] <= limit:
        copies = len(ends)
        end = heapq.heappop(ends)
        if end > at:
            yield CoveredRange(Run(at, end), copies)
            at = end
    if ends and limit > at:
        yield CoveredRange(Run(at, limit), len(ends))


def cover(
    wanted: Run, found: Iterable[Run], *, excuses: Mapping[Discrepancy, Sequence[Run]] | None = None
) -> Coverage:
    """Compare the offsets found with those wanted.

    Args:
        wanted: the offsets that must exist exactly once.
        found: runs sorted by ``from_offset``, consumed one at a time.
        excuses: ranges, in any order, whose absence has a reason (kinds of ``EXCUSED``). An excuse
            for existing offsets has no effect.

    Raises:
        ValueError: the runs are not sorted.
    """
    tally = _Tally(_Excuses(excuses or {}))
    rows = 0
    at = wanted.from_offset
    for range_, copies in sweep(found):
        rows += range_.length * copies
        before = _clip(range_, None, wanted.from_offset)
        inside = _clip(range_, wanted.from_offset, wanted.until_offset)
        behind = _clip(range_, max(wanted), None)
        tally.add(Discrepancy.STRAY, before, copies)
        tally.missing(Run(at, min(range_.from_offset, wanted.until_offset)))
        tally.add(Discrepancy.DUPLICATE, inside, copies - 1)
        tally.add(Discrepancy.STRAY, behind, copies)
        at = max(at, range_.until_offset)
    tally.missing(Run(at, wanted.until_offset))
    return Coverage(wanted=wanted, rows=rows, findings=tally.findings())


def uncovered(wanted: Run, found: Iterable[Run]) -> list[Run]:
    """Return the parts of a range that none of these sorted runs cover."""
    parts = []
    at = wanted.from_offset
    for run in found:
        if run.from_offset >= wanted.until_offset:
            break
        if run.from_offset > at:
            parts.append(Run(at, run.from_offset))
        at = max(at, run.until_offset)
    if at < wanted.until_offset:
        parts.append(Run(at, wanted.until_offset))
    return parts


def _clip(run: Run, start: int | None, end: int | None) -> Run:
    """Return the part of a run between two bounds; if there is none, its length is not positive."""
    return Run(
        run.from_offset if start is None else max(run.from_offset, start),
        run.until_offset if end is None else min(run.until_offset, end),
    )


class _Excuses:
    """Ranges that may be missing, sorted and without overlaps."""

    def __init__(self, excuses: Mapping[Discrepancy, Sequence[Run]]) -> None:
        self._runs: list[tuple[Run, Discrepancy]] = []
        at: int | None = None
        for run, kind in sorted((run, kind) for kind, runs in excuses.items() for run in runs):
            rest = _clip(run, at, None)
            if rest.length > 0:
                self._runs.append((rest, kind))
                at = rest.until_offset
        self._ends = [run.until_offset for run, _ in self._runs]

    def split(self, missing: Run) -> Iterator[tuple[Run, Discrepancy]]:
        """Split a missing range; yield each part with its excuse, or as a gap."""
        at = missing.from_offset
        for run, kind in self._runs[bisect_right(self._ends, at) :]:
            if run.from_offset >= missing.until_offset:
                break
            excused = _clip(run, at, missing.until_offset)
            yield Run(at, excused.from_offset), Discrepancy.GAP
            yield excused, kind
            at = excused.until_offset
        yield Run(at, missing.until_offset), Discrepancy.GAP


class _Tally:
    """Accumulates findings; adjacent ranges are merged."""

    def __init__(self, excuses: _Excuses) -> None:
        self._excuses = excuses
        self._offsets: dict[Discrepancy, int] = {}
        self._counts: dict[Discrepancy, int] = {}
        self._last: dict[Discrepancy, int] = {}
        self._shown: dict[Discrepancy, list[Run]] = {}

    def missing(self, run: Run) -> None:
        if run.length > 0:
            for part, kind in self._excuses.split(run):
                self.add(kind, part, 1)

    def add(self, kind: Discrepancy, run: Run, weight: int) -> None:
        if run.length <= 0 or weight <= 0:
            return
        self._offsets[kind] = self._offsets.get(kind, 0) + run.length * weight
        shown = self._shown.setdefault(kind, [])
        touches = self._last.get(kind) == run.from_offset
        self._last[kind] = run.until_offset
        if not touches:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if len(shown) < SHOWN:
                shown.append(run)
        elif shown[-1].until_offset == run.from_offset:
            shown[-1] = Run(shown[-1].from_offset, run.until_offset)

    def findings(self) -> dict[Discrepancy, CoverageRanges]:
        return {
            kind: CoverageRanges(offsets, self._counts[kind], tuple(self._shown[kind]))
            for kind, offsets in sorted(self._offsets.items())
        }
