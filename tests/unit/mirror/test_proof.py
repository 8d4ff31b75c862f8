"""The lines of the offsets file compared with both clusters."""

import pytest

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.mirror.landed import Landed, ReadFrom
from zkconsumer.mirror.proof import (
    Lines,
    MirroredPartition,
    TargetOffset,
    by_source,
    claimed_twice,
    digest_of,
    offsets_without_line,
    ranges_of,
)
from zkconsumer.model import TopicPartition

COPY_0 = TopicPartition("copy", 0)
COPY_1 = TopicPartition("copy", 1)
GOOD = {offset: digest_of(b"k", b"v%d" % offset) for offset in range(20)}


def lines() -> Lines:
    """Return lines of offsets 2 to 9, of which 4 and 5 were copied twice."""
    return Lines(
        [
            Landed(SOURCE, ((2, 6),), COPY_0, 100),
            Landed(SOURCE, ((4, 6),), COPY_0, 104),
            Landed(SOURCE, ((6, 7), (8, 10)), COPY_1, 0),
        ]
    )


def target() -> dict[TargetOffset, bytes]:
    """Return the digests of a target that agrees with these lines."""
    return {
        location: GOOD[offset]
        for offset, some in lines().locations(0, 20).items()
        for location in some
    }


def judge(
    target_digests: dict[TargetOffset, bytes],
    source: set[int],
    starts: dict[TopicPartition, int] | None = None,
) -> MirroredPartition:
    """Compare both in two ranges; return the proof."""
    proof = MirroredPartition(SOURCE, 2, 10)
    for start, until in ((2, 5), (5, 10)):
        of_range = {offset: GOOD[offset] for offset in source if start <= offset < until}
        proof.judge(of_range, lines().locations(start, until), target_digests, starts or {})
    return proof


def test_a_complete_mirror_is_proven() -> None:
    """Copies are counted, but no fault, and neither are offsets without a message."""
    proof = judge(target(), {2, 3, 4, 5, 6, 8, 9})
    assert proof.is_proven
    assert (proof.messages, proof.mirrored, proof.copies) == (7, 7, 2)


def test_a_message_without_a_line_is_missing() -> None:
    """The proof names the offset."""
    proof = judge(target(), {2, 3, 4, 5, 6, 7, 8, 9})
    assert (proof.missing, proof.is_proven) == (1, False)
    assert proof.examples == ["offset 7 is not in any line"]


@pytest.mark.parametrize("value", [None, b"something else"])
def test_a_message_that_differs_is_reported(value: bytes | None) -> None:
    """A missing message is as bad as another one, and so is one wrong copy of two."""
    digests = target()
    if value is None:
        del digests[COPY_0, 104]
    else:
        digests[COPY_0, 104] = value
    proof = judge(digests, {2, 3, 4, 5, 6, 8, 9})
    assert (proof.different, proof.is_proven) == (1, False)
    (example,) = proof.examples
    assert example.startswith("offset 4 should be at offset 104 of copy-0, but is not")
    assert ("no message is there" in example) is (value is None)
    assert ("others write to the target" in example) is (value is not None)
    assert "source's log" not in example


def test_a_source_that_was_truncated_and_mirrored_again_is_reported() -> None:
    """An offset was copied twice: as the source had it, and as it has it now."""
    proof = MirroredPartition(TopicPartition("from", 0), 0, 1)
    old, new = (COPY_0, 104), (COPY_0, 107)
    had, has = (digest_of(None, value) for value in (b"one", b"anew"))
    proof.judge({0: has}, {0: [old, new]}, {old: had, new: has}, {})
    assert (proof.different, proof.mirrored) == (1, 0)
    (example,) = proof.examples
    assert "it is at offset 107: the source's log was truncated" in example


def test_a_message_that_the_target_has_deleted_is_not_proven() -> None:
    """It may have been right; a later copy would prove it."""
    digests = {location: digest for location, digest in target().items() if location[1] >= 104}
    proof = judge(digests, {2, 3, 4, 5}, {COPY_0: 104})
    assert (proof.unproven, proof.mirrored, proof.different) == (2, 2, 0)
    assert not proof.is_proven


def test_null_is_not_empty() -> None:
    """A null differs from empty bytes, and a key from a value."""
    digests = {
        digest_of(key, value)
        for key, value in [(None, b""), (b"", None), (b"", b""), (None, None), (b"a", b"b")]
    } | {digest_of(b"ab", b""), digest_of(b"", b"ab")}
    assert len(digests) == 7


def test_target_offsets_are_found_whatever_the_order_of_the_lines() -> None:
    """A long line that begins far before is found, too."""
    found = Lines(
        [Landed(SOURCE, ((9, 10),), COPY_0, 50), Landed(SOURCE, ((0, 30),), COPY_0, 0)]
    ).locations(8, 10)
    assert found == {8: [(COPY_0, 8)], 9: [(COPY_0, 9), (COPY_0, 50)]}


def test_nearby_target_offsets_are_read_together() -> None:
    """Distant ones are read separately."""
    locations = [(COPY_0, 5), (COPY_0, 1), (COPY_1, 7), (COPY_0, 90), (COPY_0, 6)]
    assert list(ranges_of(locations, gap=10)) == [
        (COPY_0, (1, 7)),
        (COPY_0, (90, 91)),
        (COPY_1, (7, 8)),
    ]


def test_the_first_line_may_be_missing() -> None:
    """Messages before the first line must be there from where the mirror began."""
    found = Lines([Landed(SOURCE, ((6, 9),), COPY_0, 0), ReadFrom(SOURCE, 8), ReadFrom(SOURCE, 2)])
    assert (found.start, found.until) == (2, 9)
    assert found.locations(2, 7) == {6: [(COPY_0, 0)]}
    alone = Lines([ReadFrom(SOURCE, 4)])
    assert (alone.start, alone.until, alone.locations(0, 9)) == (4, 4, {})


def test_a_target_offset_claimed_twice_is_counted() -> None:
    """Messages may be equal: a message that is lost is not hidden by one written in its place."""
    first, other = Landed(SOURCE, ((0, 5),), COPY_0, 10), Landed(OTHER, ((0, 5),), COPY_1, 10)
    assert claimed_twice([first, other, first]) == {}
    again = [Landed(SOURCE, ((5, 9),), COPY_0, 12), Landed(SOURCE, ((9, 11),), COPY_0, 13)]
    assert claimed_twice([*again, first, other]) == {COPY_0: 3 + 2}


def test_target_offsets_without_a_line_are_counted() -> None:
    """Those between lines and after the last count; those before the first line don't."""
    landed = [
        Landed(SOURCE, ((0, 5),), COPY_0, 10),
        Landed(SOURCE, ((3, 6),), COPY_0, 13),
        Landed(OTHER, ((0, 2),), COPY_0, 20),
    ]
    assert offsets_without_line(landed, {COPY_0: 25}) == {COPY_0: 4 + 3}
    assert offsets_without_line(landed, {}) == {COPY_0: 4}
    assert list(by_source(landed)) == [SOURCE, OTHER]
