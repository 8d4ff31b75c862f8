"""Which offsets are missing, duplicated or excused, by examples."""

import pytest

from zkconsumer.drain.proving.coverage import SHOWN, CoverageRanges, Discrepancy, Run, cover, sweep


def test_a_whole_range_in_pieces_is_complete() -> None:
    """Adjacent runs that cover the range give no findings."""
    coverage = cover(Run(5, 20), [Run(5, 10), Run(10, 11), Run(11, 20)])
    assert coverage.complete
    assert coverage.rows == 15
    assert coverage.findings == {}


def test_an_empty_landing_is_one_gap() -> None:
    """Without any rows the whole range is missing."""
    coverage = cover(Run(5, 20), [])
    assert not coverage.complete
    assert coverage.findings == {Discrepancy.GAP: CoverageRanges(15, 1, (Run(5, 20),))}


def test_an_empty_range_is_complete() -> None:
    """A partition without messages needs no rows."""
    assert cover(Run(7, 7), []).complete


def test_kinds_of_discrepancies_are_distinguished() -> None:
    """Expired and compacted offsets, gaps, duplicates and strays are reported separately."""
    coverage = cover(
        Run(0, 100),
        [Run(10, 30), Run(20, 30), Run(35, 60), Run(70, 100), Run(100, 104)],
        excuses={Discrepancy.EXPIRED: [Run(0, 10)], Discrepancy.COMPACTED: [Run(30, 35)]},
    )
    assert coverage.findings == {
        Discrepancy.EXPIRED: CoverageRanges(10, 1, (Run(0, 10),)),
        Discrepancy.COMPACTED: CoverageRanges(5, 1, (Run(30, 35),)),
        Discrepancy.GAP: CoverageRanges(10, 1, (Run(60, 70),)),
        Discrepancy.DUPLICATE: CoverageRanges(10, 1, (Run(20, 30),)),
        Discrepancy.STRAY: CoverageRanges(4, 1, (Run(100, 104),)),
    }
    assert not coverage.complete


def test_excused_absence_alone_is_complete() -> None:
    """Offsets that the log did not have cannot be missing from the landing."""
    coverage = cover(Run(0, 9), [Run(4, 9)], excuses={Discrepancy.EXPIRED: [Run(0, 4)]})
    assert coverage.complete
    assert coverage.of(Discrepancy.EXPIRED).offsets == 4


def test_a_third_copy_counts_twice_but_shows_once() -> None:
    """Duplicates count all surplus copies, and adjacent ranges of them are shown as one."""
    coverage = cover(Run(0, 10), [Run(0, 10), Run(2, 6), Run(4, 6)])
    assert coverage.of(Discrepancy.DUPLICATE) == CoverageRanges(6, 1, (Run(2, 6),))


def test_many_findings_are_counted_in_full_and_shown_in_part() -> None:
    """A landing with a hole at every second offset takes bounded memory."""
    runs = (Run(offset, offset + 1) for offset in range(0, 4 * SHOWN, 2))
    gap = cover(Run(0, 4 * SHOWN), runs).of(Discrepancy.GAP)
    assert (gap.offsets, gap.ranges) == (2 * SHOWN, 2 * SHOWN)
    assert gap.shown == tuple(Run(offset, offset + 1) for offset in range(1, 2 * SHOWN, 2))


def test_unsorted_runs_are_refused() -> None:
    """Unsorted runs would give wrong results."""
    with pytest.raises(ValueError, match=r"sorted: \[3, 4\) comes behind one from 5"):
        list(sweep([Run(5, 6), Run(3, 4)]))
