"""Frames: whole ones only, and no belief in silly lengths."""

import pytest

from tests.fakes.frame_reader import FrameReader
from zkconsumer.errors import DecodeError


def taken(reader: FrameReader) -> bytes:
    """Take the next frame, which must be there."""
    frame = reader.next_frame()
    assert frame is not None
    return bytes(frame)


def test_waits_for_the_whole_frame() -> None:
    """Nothing comes out before the last byte is there, and it says how many are missing."""
    reader = FrameReader(100)
    assert reader.next_frame() is None
    assert reader.missing_bytes == 4
    reader.receive(b"\0\0\0\x05abc")
    assert reader.next_frame() is None
    assert reader.missing_bytes == 2
    reader.receive(b"de")
    assert taken(reader) == b"abcde"
    assert reader.is_empty
    assert reader.next_frame() is None


def test_a_frame_stays_valid_while_others_come() -> None:
    """A frame given out is not changed by what arrives later."""
    reader = FrameReader(100)
    reader.receive(b"\0\0\0\x04aaaa\0\0\0\x04bb")
    first = reader.next_frame()
    reader.receive(b"bb")
    assert taken(reader) == b"bbbb"
    assert first is not None
    assert bytes(first) == b"aaaa"


@pytest.mark.parametrize("length", [-1, -(1 << 31), 0, 3, 101, (1 << 31) - 1])
def test_impossible_lengths_are_refused_at_once(length: int) -> None:
    """A length below a correlation id or above the bound is an error before its bytes come."""
    reader = FrameReader(100)
    reader.receive(length.to_bytes(4, "big", signed=True))
    with pytest.raises(DecodeError, match=rf"length of {length},.*4 to 100"):
        reader.next_frame()
