"""How the partitions of a request share its response."""

import sys
from dataclasses import replace

from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shares import ResponseShares, Wanted, share_out, shares_of


def shares(large_bytes: int) -> ResponseShares:
    """Build shares of 100 bytes, which may grow to 300."""
    return ResponseShares(100, 300, large_bytes)


def test_each_partition_gets_its_part() -> None:
    """A part may have grown, and is never smaller than the next entry."""
    wanted = {
        "a": Wanted(),
        "b": Wanted(70, 0, 40),
        "c": Wanted(100, 200),
        "d": Wanted(0, 900),
        "e": Wanted(0, 900, 250),
    }
    assert share_out(wanted, shares(0)) == {"a": 100, "b": 70, "c": 200, "d": 300, "e": 250}


def test_large_entries_take_turns_within_their_limit() -> None:
    """In order, but one that does not fit lets a smaller one pass."""
    wanted = {name: Wanted(size) for name, size in zip("abcd", (400, 0, 700, 500), strict=True)}
    assert share_out(wanted, shares(1_000)) == {"a": 400, "b": 100, "d": 500}


def test_the_first_large_entry_is_requested_whatever_its_size() -> None:
    """Then nothing is left for other large entries."""
    wanted = {"a": Wanted(5_000), "b": Wanted(200), "c": Wanted(100)}
    assert share_out(wanted, shares(1_000)) == {"a": 5_000, "c": 100}


SETTINGS = CoreFetchSettings(max_partition_bytes=100_000, grown_bytes=400_000, max_bytes=1_000_000)


def with_hard_limits(needed: list[int], sharing: int) -> ResponseShares:
    """Return how the response of a broker without a limit for it is shared."""
    return shares_of(SETTINGS, needed, sharing, has_hard_bounds=True)


def test_with_hard_limits_parts_are_equal() -> None:
    """Parts have a minimum size, and growth stays within the limit."""
    assert with_hard_limits([0, 0], 2) == ResponseShares(100_000, 400_000, 500_000)
    assert with_hard_limits([0] * 50, 50)[:2] == (20_000, 20_000)
    assert with_hard_limits([], 1_000)[:2] == (4_096, 4_096)


def test_buffered_partitions_count_against_a_hard_limit() -> None:
    """A partition that is not requested keeps its part for its buffered records."""
    assert with_hard_limits([0] * 10, 20).part_bytes == 50_000


def test_larger_entries_leave_half_of_a_hard_limit_to_the_others() -> None:
    """This applies as soon as one entry is larger than an equal part."""
    assert with_hard_limits([0, 400_000], 50)[:2] == (10_000, 10_000)
    assert with_hard_limits([0, 20_000], 50)[:2] == (20_000, 20_000)
    assert with_hard_limits([0, 20_001], 50)[:2] == (10_000, 10_000)


def test_with_soft_limits_parts_have_their_usual_size() -> None:
    """The broker limits the response itself, however many partitions there are."""
    soft = shares_of(SETTINGS, [0, 9_000_000], 1_000, has_hard_bounds=False)
    assert soft == ResponseShares(100_000, 400_000, sys.maxsize)
    small = shares_of(replace(SETTINGS, max_bytes=5_000), [0], 1, has_hard_bounds=False)
    assert small.part_bytes == 5_000
