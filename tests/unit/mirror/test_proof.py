"""What the lines say, held against what both clusters have."""

import pytest

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.mirror.landed import Began, Landed
from zkconsumer.mirror.proof import (
    Lines,
    MirroredPartition,
    Place,
    by_source,
    claimed_twice,
    digest_of,
    ranges_of,
    unlisted,
)
from zkconsumer.model import TopicPartition

THERE = TopicPartition("copy", 0)
ELSEWHERE = TopicPartition("copy", 1)
GOOD = {offset: digest_of(b"k", b"v%d" % offset) for offset in range(20)}


def lines() -> Lines:
    """Offsets 2 to 9, of which 4 and 5 are there twice."""
    return Lines(
        [
            Landed(SOURCE, ((2, 6),), THERE, 100),
            Landed(SOURCE, ((4, 6),), THERE, 104),
            Landed(SOURCE, ((6, 7), (8, 10)), ELSEWHERE, 0),
        ]
    )


def target() -> dict[Place, bytes]:
    """All of it, as it should be."""
    return {
        location: GOOD[offset]
        for offset, some in lines().locations(0, 20).items()
        for location in some
    }


def judged(
    there: dict[Place, bytes], source: set[int], starts: dict[TopicPartition, int] | None = None
) -> MirroredPartition:
    """Hold these against each other, in two ranges."""
    proof = MirroredPartition(SOURCE, 2, 10)
    for start, until in ((2, 5), (5, 10)):
        of_range = {offset: GOOD[offset] for offset in source if start <= offset < until}
        proof.judge(of_range, lines().locations(start, until), there, starts or {})
    return proof


def test_everything_in_its_place_is_proven() -> None:
    """Copies are counted, and are no fault; nor are offsets without a message."""
    proof = judged(target(), {2, 3, 4, 5, 6, 8, 9})
    assert proof.is_proven
    assert (proof.messages, proof.mirrored, proof.copies) == (7, 7, 2)


def test_a_message_that_no_line_names_is_missing() -> None:
    """The proof says which."""
    proof = judged(target(), {2, 3, 4, 5, 6, 7, 8, 9})
    assert (proof.missing, proof.is_proven) == (1, False)
    assert proof.examples == ["offset 7 is not in any line"]


@pytest.mark.parametrize("what", [None, b"something else"])
def test_a_message_that_is_not_what_it_should_be(what: bytes | None) -> None:
    """Nothing there is as bad as another one; so is one of two copies."""
    there = target()
    if what is None:
        del there[THERE, 104]
    else:
        there[THERE, 104] = what
    proof = judged(there, {2, 3, 4, 5, 6, 8, 9})
    assert (proof.different, proof.is_proven) == (1, False)
    (said,) = proof.examples
    assert said.startswith("offset 4 should be at offset 104 of copy-0, but is not")
    assert ("no message is there" in said) is (what is None)
    assert ("others write to the target" in said) is (what is not None)
    assert "source's log" not in said


def test_a_source_that_was_cut_back_and_mirrored_again_is_told() -> None:
    """One offset in two places: what the source had, and what it has now."""
    proof = MirroredPartition(TopicPartition("from", 0), 0, 1)
    old, new = (THERE, 104), (THERE, 107)
    had, has = (digest_of(None, value) for value in (b"one", b"anew"))
    proof.judge({0: has}, {0: [old, new]}, {old: had, new: has}, {})
    assert (proof.different, proof.mirrored) == (1, 0)
    (said,) = proof.examples
    assert "it is at offset 107: the source's log was truncated" in said


def test_what_the_target_does_not_have_any_more_is_not_proven() -> None:
    """It may have been right: a copy further on proves it."""
    there = {location: digest for location, digest in target().items() if location[1] >= 104}
    proof = judged(there, {2, 3, 4, 5}, {THERE: 104})
    assert (proof.unproven, proof.mirrored, proof.different) == (2, 2, 0)
    assert not proof.is_proven


def test_null_is_not_empty() -> None:
    """Nor is a key a value."""
    digests = {
        digest_of(key, value)
        for key, value in [(None, b""), (b"", None), (b"", b""), (None, None), (b"a", b"b")]
    } | {digest_of(b"ab", b""), digest_of(b"", b"ab")}
    assert len(digests) == 7


def test_places_are_found_whatever_the_order_of_the_lines() -> None:
    """A long line that begins far in front is found, too."""
    found = Lines(
        [Landed(SOURCE, ((9, 10),), THERE, 50), Landed(SOURCE, ((0, 30),), THERE, 0)]
    ).locations(8, 10)
    assert found == {8: [(THERE, 8)], 9: [(THERE, 9), (THERE, 50)]}


def test_near_places_are_read_together() -> None:
    """What lies far apart is not."""
    locations = [(THERE, 5), (THERE, 1), (ELSEWHERE, 7), (THERE, 90), (THERE, 6)]
    assert list(ranges_of(locations, gap=10)) == [
        (THERE, (1, 7)),
        (THERE, (90, 91)),
        (ELSEWHERE, (7, 8)),
    ]


def test_the_first_line_may_be_missing() -> None:
    """What stands in front of the others is to be there from where the mirror began."""
    found = Lines([Landed(SOURCE, ((6, 9),), THERE, 0), Began(SOURCE, 8), Began(SOURCE, 2)])
    assert (found.start, found.until) == (2, 9)
    assert found.locations(2, 7) == {6: [(THERE, 0)]}
    alone = Lines([Began(SOURCE, 4)])
    assert (alone.start, alone.until, alone.locations(0, 9)) == (4, 4, {})


def test_an_offset_is_given_out_once() -> None:
    """Messages may be the same: what the target lost is not hidden by what came in its place."""
    first, other = Landed(SOURCE, ((0, 5),), THERE, 10), Landed(OTHER, ((0, 5),), ELSEWHERE, 10)
    assert claimed_twice([first, other, first]) == {}
    again = [Landed(SOURCE, ((5, 9),), THERE, 12), Landed(SOURCE, ((9, 11),), THERE, 13)]
    assert claimed_twice([*again, first, other]) == {THERE: 3 + 2}


def test_offsets_that_no_line_names_are_counted() -> None:
    """In between and at the end; not in front of the first line, nor twice."""
    landed = [
        Landed(SOURCE, ((0, 5),), THERE, 10),
        Landed(SOURCE, ((3, 6),), THERE, 13),
        Landed(OTHER, ((0, 2),), THERE, 20),
    ]
    assert unlisted(landed, {THERE: 25}) == {THERE: 4 + 3}
    assert unlisted(landed, {}) == {THERE: 4}
    assert list(by_source(landed)) == [SOURCE, OTHER]
