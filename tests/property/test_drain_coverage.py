"""Coverage of a range agrees with counting every offset, whatever the runs and excuses."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.proving.coverage import EXCUSED, Coverage, Discrepancy, Run, cover, sweep

_OFFSETS = st.integers(0, 60)
_RUNS = st.builds(lambda start, count: Run(start, start + count), _OFFSETS, st.integers(0, 12))
_LISTS = st.lists(_RUNS, max_size=12)


def _offsets(runs: Iterable[Run]) -> list[int]:
    return [offset for run in runs for offset in range(*run)]


def _shown(coverage: Coverage, kind: Discrepancy) -> list[int]:
    return _offsets(coverage.of(kind).shown)


@given(_LISTS)
def test_a_sweep_counts_the_copies_of_every_offset(runs: list[Run]) -> None:
    """Its ranges are disjoint and sorted, and have each offset as often as the runs do."""
    ranges = list(sweep(sorted(runs)))
    counted = {offset: copies for run, copies in ranges for offset in range(*run)}
    assert counted == Counter(_offsets(runs))
    bounds = [bound for run, _ in ranges for bound in run]
    assert bounds == sorted(bounds)


@given(_RUNS, _LISTS, _LISTS, _LISTS)
def test_every_offset_has_the_discrepancy_that_counting_gives(
    wanted: Run, found: list[Run], expired: list[Run], compacted: list[Run]
) -> None:
    """Gaps, duplicates, strays and excused gaps are those of a loop over all offsets."""
    coverage = cover(
        wanted,
        sorted(found),
        excuses={Discrepancy.EXPIRED: expired, Discrepancy.COMPACTED: compacted},
    )
    copies = Counter(_offsets(found))
    requested = set(range(*wanted))
    missing = requested - copies.keys()
    excused = missing & {*_offsets(expired), *_offsets(compacted)}
    assert coverage.rows == copies.total()
    assert _shown(coverage, Discrepancy.GAP) == sorted(missing - excused)
    assert {
        *_shown(coverage, Discrepancy.EXPIRED),
        *_shown(coverage, Discrepancy.COMPACTED),
    } == excused
    assert set(_shown(coverage, Discrepancy.EXPIRED)) <= set(_offsets(expired))
    assert set(_shown(coverage, Discrepancy.COMPACTED)) <= set(_offsets(compacted))
    assert _shown(coverage, Discrepancy.DUPLICATE) == sorted(o for o in requested if copies[o] > 1)
    assert _shown(coverage, Discrepancy.STRAY) == sorted(copies.keys() - requested)
    assert coverage.of(Discrepancy.DUPLICATE).offsets == sum(
        copies[o] - 1 for o in requested & copies.keys()
    )
    assert coverage.of(Discrepancy.STRAY).offsets == sum(
        copies[o] for o in copies.keys() - requested
    )


@given(_RUNS, _LISTS)
def test_coverage_is_complete_if_each_wanted_offset_is_there_once(
    wanted: Run, found: list[Run]
) -> None:
    """Without excuses, the found offsets must be exactly the wanted ones."""
    complete = cover(wanted, sorted(found)).complete
    assert complete == (sorted(_offsets(found)) == list(range(*wanted)))


@given(_RUNS, _LISTS)
def test_the_counts_of_discrepancies_add_up(wanted: Run, found: list[Run]) -> None:
    """Wanted offsets are missing or there; rows are first copies, duplicates or strays."""
    coverage = cover(wanted, sorted(found), excuses={Discrepancy.EXPIRED: found})
    missing = sum(coverage.of(kind).offsets for kind in (Discrepancy.GAP, *EXCUSED))
    there = wanted.length - missing
    more = coverage.of(Discrepancy.DUPLICATE).offsets + coverage.of(Discrepancy.STRAY).offsets
    assert coverage.rows == there + more
    for kind in Discrepancy:
        finding = coverage.of(kind)
        assert finding.ranges == len(finding.shown)
