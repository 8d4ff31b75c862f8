from itertools import pairwise

import pytest

from zkconsumer.assignment.java_order import immutable_map_order, mutable_map_order, string_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("[beta,0]", -535395666),
        ("[beta,1]", -535395635),
        ("[gamma.x-1,0]", 488916415),
        ("[alpha,0]", 650873494),
        ("polygenelubricants", -(2**31)),
        ("Aa", 2112),
        ("BB", 2112),
    ],
)
def test_string_hash_is_that_of_java(text: str, expected: int) -> None:
    """Signed, 32 bits, as a JVM says."""
    assert string_hash(text) == expected


def test_string_hash_counts_utf16_code_units() -> None:
    """A character beyond the basic plane counts as its two halves, half a pair as itself."""
    assert string_hash("\U0001f600") == 0xD83D * 31 + 0xDE00
    assert string_hash("\ud83d") == 0xD83D


def test_a_small_immutable_map_keeps_its_order() -> None:
    """Scala's maps of up to four entries are walked as they were written."""
    assert immutable_map_order(["d", "a", "c", "b"]) == ["d", "a", "c", "b"]
    assert immutable_map_order(["d", "a", "d"]) == ["d", "a"]


def test_a_larger_immutable_map_is_walked_by_hash() -> None:
    """From five entries on the order they were written in does not matter."""
    keys = ["d", "a", "c", "b", "e"]
    assert immutable_map_order(keys) == immutable_map_order(sorted(keys))


def test_in_a_mutable_map_equal_hashes_are_walked_newest_first() -> None:
    """Entries of one bucket form a chain that grows at its head."""
    assert mutable_map_order(["Aa", "BB"]) == ["BB", "Aa"]
    assert mutable_map_order(["BB", "Aa"]) == ["Aa", "BB"]


def test_growing_a_mutable_map_turns_equal_hashes_around() -> None:
    """The 13th entry makes the table grow, the 25th again."""
    keys = ["Aa", "BB", *(f"topic-{number}" for number in range(60))]
    places = []
    for size in (12, 13, 24, 25, 48, 49):
        order = mutable_map_order(keys[:size])
        places.append(order.index("Aa") < order.index("BB"))
    assert places == [False, True, True, False, False, True]
    assert all(size == len(set(mutable_map_order(keys[:size]))) for size in range(len(keys)))


def test_walks_are_permutations_of_the_keys() -> None:
    """No key is lost or doubled, whatever the size."""
    for size, _ in pairwise(range(80)):
        keys = [f"k{number}" for number in range(size)]
        assert sorted(mutable_map_order(keys)) == sorted(keys)
        assert sorted(immutable_map_order(keys)) == sorted(keys)
