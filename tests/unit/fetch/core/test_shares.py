"""How the partitions of a request share its response."""

import sys

from zkconsumer.fetch.core.settings import FetchLimits
from zkconsumer.fetch.core.shares import ResponseShares, Wanted, share_out, shares_of


def shares(large_bytes: int) -> ResponseShares:
    """Parts of 100 bytes, which may grow to 300."""
    return ResponseShares(100, 300, large_bytes)


def test_who_needs_no_more_gets_its_part() -> None:
    """Or what it has grown to; and never less than its next entry needs."""
    wanted = {
        "a": Wanted(),
        "b": Wanted(70, 0, 40),
        "c": Wanted(100, 200),
        "d": Wanted(0, 900),
        "e": Wanted(0, 900, 250),
    }
    assert share_out(wanted, shares(0)) == {"a": 100, "b": 70, "c": 200, "d": 300, "e": 250}


def test_large_ones_take_turns_within_their_bound() -> None:
    """In their order; one that does not fit lets a smaller one pass."""
    wanted = {name: Wanted(size) for name, size in zip("abcd", (400, 0, 700, 500), strict=True)}
    assert share_out(wanted, shares(1_000)) == {"a": 400, "b": 100, "d": 500}


def test_the_first_large_one_comes_whatever_its_size() -> None:
    """It alone: nothing is left for others then."""
    wanted = {"a": Wanted(5_000), "b": Wanted(200), "c": Wanted(100)}
    assert share_out(wanted, shares(1_000)) == {"a": 5_000, "c": 100}


SETTINGS = FetchLimits(grown_bytes=400_000, max_bytes=1_000_000)


def hard(needed: list[int], sharing: int) -> ResponseShares:
    """How the response of a broker is shared out that has no limit for it."""
    return shares_of(SETTINGS, 100_000, needed, sharing, has_hard_bounds=True)


def test_where_bounds_are_hard_parts_are_equal() -> None:
    """Never next to nothing; whoever is far behind stays within that, too."""
    assert hard([0, 0], 2) == ResponseShares(100_000, 400_000, 500_000)
    assert hard([0] * 50, 50)[:2] == (20_000, 20_000)
    assert hard([], 1_000)[:2] == (4_096, 4_096)


def test_what_is_here_already_counts_against_a_hard_bound() -> None:
    """Who is not asked keeps its part: it is taken by what waits."""
    assert hard([0] * 10, 20).part_bytes == 50_000


def test_larger_entries_leave_half_of_a_hard_bound_to_the_others() -> None:
    """As long as one of them is larger than an equal part."""
    assert hard([0, 400_000], 50)[:2] == (10_000, 10_000)
    assert hard([0, 20_000], 50)[:2] == (20_000, 20_000)
    assert hard([0, 20_001], 50)[:2] == (10_000, 10_000)


def test_a_broker_with_soft_bounds_sees_to_its_response_itself() -> None:
    """Parts are the usual ones, however many there are."""
    soft = shares_of(SETTINGS, 100_000, [0, 9_000_000], 1_000, has_hard_bounds=False)
    assert soft == ResponseShares(100_000, 400_000, sys.maxsize)
    small = shares_of(FetchLimits(max_bytes=5_000), 100_000, [0], 1, has_hard_bounds=False)
    assert small.part_bytes == 5_000
