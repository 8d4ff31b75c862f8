"""Which of two entries with contradictory offsets is corrupt, and what is skipped."""

import pytest

from tests.support.batches import records
from tests.support.engines import each_engine
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import trusted_range
from zkconsumer.records.offset_order import SetPosition, TrustedRange, find_descent

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

END = 1_000


def messages(*offsets: int, size: int = 8) -> bytes:
    """Return messages of magic 0, each valid by itself."""
    return b"".join(
        build_message_set([Record(offset, None, b"v" * size)], magic=0) for offset in offsets
    )


MESSAGE_BYTES = len(messages(0))


def judge(data: bytes, *, fetch_offset: int = 0, is_again: bool = False) -> TrustedRange:
    """Return which part of a set is trusted."""
    return trusted_range(
        memoryview(data),
        fetch_offset=fetch_offset,
        high_watermark=END,
        is_again=is_again,
        max_decompressed_bytes=1 << 20,
    )


def end_of_rise(data: bytes) -> SetPosition | None:
    """Return where the offsets of a set stop rising, or None."""
    return find_descent(memoryview(data), SetPosition(0, 0, is_first=True), END)


def test_offsets_are_below_the_end_of_the_log() -> None:
    """An entry at or beyond the end of the log is corrupt, whether it comes first or not."""
    assert end_of_rise(messages(3, END - 1)) is None
    assert end_of_rise(messages(END)) == SetPosition(0, 0, is_first=True)
    assert end_of_rise(messages(3, END)) == SetPosition(MESSAGE_BYTES, 4, is_first=False)


def test_a_first_message_below_the_previous_set_is_not_trusted() -> None:
    """Neither it nor the entry before it is trusted; a truncated message is ignored."""
    start = SetPosition(0, 7, is_first=True)
    assert find_descent(memoryview(messages(7)), start, END) is None
    assert find_descent(memoryview(messages(6)), start, END) == start
    assert find_descent(memoryview(messages(6)[:-1]), start, END) is None


def test_the_first_response_is_cut_before_the_first_of_two_entries() -> None:
    """A bit may have been flipped in transit: another fetch may be right."""
    found = judge(messages(5, 1, 6))
    assert (found.start, found.stop) == (0, 0)
    assert "claims offset 5, but is followed by offset 1" in str(found.error)
    found = judge(messages(0, 5, 1, 6))
    assert (found.start, found.stop) == (0, MESSAGE_BYTES)


def test_if_they_come_again_the_entry_after_both_decides() -> None:
    """Of these two, the one that the third entry contradicts is corrupt."""
    first = judge(messages(500, 1, 2), is_again=True)
    assert (first.start, first.stop) == (0, 0)
    assert "claims offset 500, but is followed by offset 1" in str(first.error)
    second = judge(messages(5, 1, 6), is_again=True)
    assert (second.start, second.stop) == (0, MESSAGE_BYTES)
    assert "claims offset 1, but does not follow offset 5" in str(second.error)


def test_only_the_first_contradiction_has_come_again() -> None:
    """Later entries were not seen in the first response."""
    found = judge(messages(0, 5, 1, 6), is_again=True)
    assert (found.start, found.stop) == (0, MESSAGE_BYTES)
    assert "claims offset 5, but is followed by offset 1" in str(found.error)


def test_two_entries_with_equal_offsets_decide_nothing() -> None:
    """They contradict each other, so the first one may be right."""
    found = judge(messages(5, 1, 1), is_again=True)
    assert (found.start, found.stop) == (0, MESSAGE_BYTES)


@pytest.mark.parametrize(("first", "following", "stop"), [(0, 0, MESSAGE_BYTES), (500, 2, 0)])
def test_of_two_entries_one_with_the_fetch_offset_is_right(
    first: int, following: int, stop: int
) -> None:
    """There is no third entry to decide."""
    found = judge(messages(first, following), is_again=True)
    assert (found.start, found.stop) == (0, stop)


def test_an_entry_below_the_fetch_offset_is_skipped_when_it_comes_again() -> None:
    """All requested records come after it."""
    data = messages(3, 10, 11)
    at_first = judge(data, fetch_offset=10)
    assert (at_first.start, at_first.stop, at_first.error) == (MESSAGE_BYTES, len(data), None)
    gap = messages(3, 12, 13)
    assert judge(gap, fetch_offset=10).stop == 0
    assert judge(gap, fetch_offset=10, is_again=True) == (0, len(gap), None)


def test_a_lower_offset_is_reported_with_the_entry_before_it() -> None:
    """There is no gap between them for it."""
    assert end_of_rise(messages(0, 1, 2, 7, 3)) == SetPosition(3 * MESSAGE_BYTES, 3, is_first=False)
    assert end_of_rise(messages(0, 1, 4, 7, 3)) == SetPosition(3 * MESSAGE_BYTES, 5, is_first=False)
    assert end_of_rise(messages(4, 2)) == SetPosition(0, 0, is_first=True)
    assert end_of_rise(messages(0, 1, 2, 3)) is None


def test_a_batch_covers_all_its_offsets() -> None:
    """The next entry's offset is higher than its last one, even after older messages."""
    first, second = build_batch(records(*range(5))), build_batch(records(2, 3))
    assert end_of_rise(first + second) == SetPosition(0, 0, is_first=True)
    assert end_of_rise(first + build_batch(records(5))) is None
    data = messages(0, 1) + build_batch(records(2, 3, 4)) + build_batch(records(3))
    assert end_of_rise(data) == SetPosition(2 * MESSAGE_BYTES, 2, is_first=False)


@pytest.mark.parametrize("first", [3, 0])
@pytest.mark.parametrize("text", [b"v", b"p"])
def test_after_a_corrupt_entry_reading_continues_at_the_next(text: bytes, first: int) -> None:
    """A compressed set has the offset of its last message: only its content has the first."""
    damaged = build_message_set([Record(5_000, None, text * 40)], magic=0)
    inside = messages(first, first + 1, first + 2)
    packed = wrap_message_set(inside, offset=first + 2, codec=Codec.GZIP)
    for following in (messages(first), packed):
        error = judge(damaged + following).error
        assert error is not None
        assert error.next_offset == first
