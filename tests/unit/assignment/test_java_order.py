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
def test_string_hash_equals_java_s(text: str, expected: int) -> None:
    """The hash is a signed 32-bit number, with the values that a JVM computes."""
    assert string_hash(text) == expected


def test_string_hash_counts_utf16_code_units() -> None:
    """A character above U+FFFF counts as its two surrogates, a lone surrogate as itself."""
    assert string_hash("\U0001f600") == 0xD83D * 31 + 0xDE00
    assert string_hash("\ud83d") == 0xD83D


def test_a_small_immutable_map_keeps_its_order() -> None:
    """Scala iterates over maps of up to four entries in the order of insertion."""
    assert immutable_map_order(["d", "a", "c", "b"]) == ["d", "a", "c", "b"]
    assert immutable_map_order(["d", "a", "d"]) == ["d", "a"]


def test_a_larger_immutable_map_is_iterated_by_hash() -> None:
    """From five entries on, the order of insertion does not matter."""
    keys = ["d", "a", "c", "b", "e"]
    assert immutable_map_order(keys) == immutable_map_order(sorted(keys))


def test_a_mutable_map_iterates_equal_hashes_newest_first() -> None:
    """Entries of one bucket form a chain that grows at its head."""
    assert mutable_map_order(["Aa", "BB"]) == ["BB", "Aa"]
    assert mutable_map_order(["BB", "Aa"]) == ["Aa", "BB"]


def test_each_growth_of_a_mutable_map_reverses_equal_hashes() -> None:
    """The table grows with the 13th entry, the 25th and so on, which reverses each chain."""
    keys = ["Aa", "BB", *(f"topic-{number}" for number in range(60))]
    aa_comes_first = []
    for size in (12, 13, 24, 25, 48, 49):
        order = mutable_map_order(keys[:size])
        aa_comes_first.append(order.index("Aa") < order.index("BB"))
    assert aa_comes_first == [False, True, True, False, False, True]
    assert all(size == len(set(mutable_map_order(keys[:size]))) for size in range(len(keys)))


def test_iteration_yields_each_key_once() -> None:
    """No key is lost or duplicated, whatever the size of the map."""
    for size, _ in pairwise(range(80)):
        keys = [f"k{number}" for number in range(size)]
        assert sorted(mutable_map_order(keys)) == sorted(keys)
        assert sorted(immutable_map_order(keys)) == sorted(keys)
