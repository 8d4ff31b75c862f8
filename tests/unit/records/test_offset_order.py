"""Which of two entries that contradict each other is at fault, and what is passed over."""

import pytest

from tests.support.batches import records
from tests.support.engines import each_engine
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import believed
from zkconsumer.records.offset_order import Believed, SetPosition, offsets_rise

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

END = 1_000


def messages(*offsets: int, size: int = 8) -> bytes:
    """Messages of magic 0, each sound in itself."""
    return b"".join(
        build_message_set([Record(offset, None, b"v" * size)], magic=0) for offset in offsets
    )


ONE = len(messages(0))


def judged(data: bytes, *, fetch_offset: int = 0, is_again: bool = False) -> Believed:
    """What of a set is believed."""
    return believed(
        memoryview(data),
        fetch_offset=fetch_offset,
        high_watermark=END,
        is_again=is_again,
        max_decompressed_bytes=1 << 20,
    )


def rising(data: bytes) -> SetPosition | None:
    """Where a set ceases to rise."""
    return offsets_rise(memoryview(data), SetPosition(0, 0, is_first=True), END)


def test_a_set_rises_up_to_the_end_of_the_log() -> None:
    """What lies at or behind it is at fault itself, alone as behind others."""
    assert rising(messages(3, END - 1)) is None
    assert rising(messages(END)) == SetPosition(0, 0, is_first=True)
    assert rising(messages(3, END)) == SetPosition(ONE, 4, is_first=False)


def test_a_first_message_below_the_one_before_the_set_does_not_fit() -> None:
    """Neither the entry that precedes it nor itself is believed; cut off, it says nothing."""
    start = SetPosition(0, 7, is_first=True)
    assert offsets_rise(memoryview(messages(7)), start, END) is None
    assert offsets_rise(memoryview(messages(6)), start, END) == start
    assert offsets_rise(memoryview(messages(6)[:-1]), start, END) is None


def test_at_first_the_answer_ends_in_front_of_the_first_of_two() -> None:
    """A bit may have been flipped on the way: asked again, it comes right."""
    found = judged(messages(5, 1, 6))
    assert (found.start, found.stop) == (0, 0)
    assert "claims offset 5, but is followed by offset 1" in str(found.error)
    found = judged(messages(0, 5, 1, 6))
    assert (found.start, found.stop) == (0, ONE)


def test_if_it_comes_again_the_one_behind_both_tells_which_is_at_fault() -> None:
    """It contradicts the first one, or the second."""
    first = judged(messages(500, 1, 2), is_again=True)
    assert (first.start, first.stop) == (0, 0)
    assert "claims offset 500, but is followed by offset 1" in str(first.error)
    second = judged(messages(5, 1, 6), is_again=True)
    assert (second.start, second.stop) == (0, ONE)
    assert "claims offset 1, but does not follow offset 5" in str(second.error)


def test_what_came_again_is_what_stands_in_front() -> None:
    """Of what is behind it this is the first sight."""
    found = judged(messages(0, 5, 1, 6), is_again=True)
    assert (found.start, found.stop) == (0, ONE)
    assert "claims offset 5, but is followed by offset 1" in str(found.error)


def test_two_that_claim_the_same_tell_nothing_of_a_third() -> None:
    """They contradict each other: the first one may be right."""
    found = judged(messages(5, 1, 1), is_again=True)
    assert (found.start, found.stop) == (0, ONE)


@pytest.mark.parametrize(("first", "behind", "stop"), [(0, 0, ONE), (500, 2, 0)])
def test_with_one_behind_it_an_entry_is_right_where_it_claims_what_was_asked_for(
    first: int, behind: int, stop: int
) -> None:
    """There is no third to tell."""
    found = judged(messages(first, behind), is_again=True)
    assert (found.start, found.stop) == (0, stop)


def test_what_begins_below_is_passed_over_when_it_comes_again() -> None:
    """All that was asked for lies behind it."""
    data = messages(3, 10, 11)
    at_first = judged(data, fetch_offset=10)
    assert (at_first.start, at_first.stop, at_first.error) == (ONE, len(data), None)
    gap = messages(3, 12, 13)
    assert judged(gap, fetch_offset=10).stop == 0
    assert judged(gap, fetch_offset=10, is_again=True) == (0, len(gap), None)


def test_the_last_of_many_alike_is_told_with_what_lies_in_front_of_it() -> None:
    """Between them is no gap that it could fill."""
    assert rising(messages(0, 1, 2, 7, 3)) == SetPosition(3 * ONE, 3, is_first=False)
    assert rising(messages(0, 1, 4, 7, 3)) == SetPosition(3 * ONE, 5, is_first=False)
    assert rising(messages(4, 2)) == SetPosition(0, 0, is_first=True)
    assert rising(messages(0, 1, 2, 3)) is None


def test_a_batch_takes_all_its_offsets() -> None:
    """What follows lies behind the last of them, also behind messages of old."""
    first, second = build_batch(records(*range(5))), build_batch(records(2, 3))
    assert rising(first + second) == SetPosition(0, 0, is_first=True)
    assert rising(first + build_batch(records(5))) is None
    behind = messages(0, 1) + build_batch(records(2, 3, 4)) + build_batch(records(3))
    assert rising(behind) == SetPosition(2 * ONE, 2, is_first=False)


@pytest.mark.parametrize("first", [3, 0])
@pytest.mark.parametrize("text", [b"v", b"p"])
def test_behind_what_is_damaged_reading_goes_on_where_the_next_one_begins(
    text: bytes, first: int
) -> None:
    """A compressed set bears the offset of its last message: only what is inside tells."""
    damaged = build_message_set([Record(5_000, None, text * 40)], magic=0)
    inside = messages(first, first + 1, first + 2)
    packed = wrap_message_set(inside, offset=first + 2, codec=Codec.GZIP)
    for following in (messages(first), packed):
        error = judged(damaged + following).error
        assert error is not None
        assert error.next_offset == first
