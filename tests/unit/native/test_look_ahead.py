"""What the headers of a record set reveal of its end before it is decompressed."""

import random

import pytest

from tests.support.engines import needs_native
from tests.support.flipped_logs import make_log
from zkconsumer.fetch.core.ahead import look_ahead
from zkconsumer.records.entries import cut_off_entry

pytestmark = needs_native


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_needed_size_is_that_of_the_truncated_entry(magic: int) -> None:
    """It is 0 if too little of the entry arrived to know its size, or after a whole entry."""
    front, rest = make_log(random.Random(magic), magic, 2)
    for cut in range(len(rest.data)):
        tail = rest.data[:cut]
        seen = look_ahead(memoryview(front.data + tail), front.first)
        assert seen is not None
        cut_off = cut_off_entry(tail)
        assert seen.needed_bytes == (0 if cut_off is None else cut_off.size_bytes)
        assert seen.next_offset == front.last + 1
    seen = look_ahead(memoryview(front.data + rest.data), front.first)
    assert seen is not None
    assert (seen.needed_bytes, seen.next_offset) == (0, rest.last + 1)


def test_an_unreadable_entry_is_not_taken_for_a_truncated_one() -> None:
    """It arrived whole: requesting more of it would return the same."""
    front, rest = make_log(random.Random(3), 2, 2)
    strange = bytearray(rest.data)
    strange[16] = 9  # its magic
    seen = look_ahead(memoryview(front.data + bytes(strange)), front.first)
    assert seen is not None
    assert (seen.needed_bytes, seen.next_offset) == (0, front.last + 1)
