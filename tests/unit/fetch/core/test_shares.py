"""How the partitions of a request share its response."""

from zkconsumer.fetch.core.shares import Wanted, share_out


def test_who_needs_no_more_gets_what_is_usual() -> None:
    """Or what its next entry needs, which may be more than usual of it."""
    wanted = {"a": Wanted(100, 0), "b": Wanted(40, 70), "c": Wanted(400, 100)}
    assert share_out(wanted, part_bytes=100, large_bytes=0) == {"a": 100, "b": 70, "c": 400}


def test_large_ones_take_turns_within_their_bound() -> None:
    """In their order; one that does not fit lets a smaller one pass."""
    wanted = {
        name: Wanted(100, size) for name, size in zip("abcd", (400, 0, 700, 500), strict=True)
    }
    sizes = share_out(wanted, part_bytes=100, large_bytes=1_000)
    assert sizes == {"a": 400, "b": 100, "d": 500}


def test_the_first_large_one_comes_whatever_its_size() -> None:
    """It alone: nothing is left for others then."""
    wanted = {"a": Wanted(100, 5_000), "b": Wanted(100, 200), "c": Wanted(100, 100)}
    assert share_out(wanted, part_bytes=100, large_bytes=1_000) == {"a": 5_000, "c": 100}


def test_one_that_may_not_be_large_now_leaves_its_turn_to_the_next() -> None:
    """It is asked only where it could have it."""
    asked: list[str] = []

    def may_be_large(name: str) -> bool:
        asked.append(name)
        return name != "a"

    wanted = {name: Wanted(100, 600) for name in "abc"} | {"d": Wanted(100, 0)}
    sizes = share_out(wanted, part_bytes=100, large_bytes=1_000, may_be_large=may_be_large)
    assert sizes == {"b": 600, "d": 100}
    assert asked == ["a", "b"]
