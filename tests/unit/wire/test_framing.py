"""Frames: only complete ones are returned, and impossible lengths are refused."""

import pytest

from tests.fakes.frame_reader import FrameReader
from zkconsumer.errors import DecodeError


def taken(reader: FrameReader) -> bytes:
    """Return the next frame, which must be complete."""
    frame = reader.next_frame()
    assert frame is not None
    return bytes(frame)


def test_a_frame_is_returned_when_it_is_complete() -> None:
    """A frame is returned when its last byte is there; until then missing bytes are counted."""
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
    """A frame stays unchanged when more bytes arrive."""
    reader = FrameReader(100)
    reader.receive(b"\0\0\0\x04aaaa\0\0\0\x04bb")
    first = reader.next_frame()
    reader.receive(b"bb")
    assert taken(reader) == b"bbbb"
    assert first is not None
    assert bytes(first) == b"aaaa"


@pytest.mark.parametrize("length", [-1, -(1 << 31), 0, 3, 101, (1 << 31) - 1])
def test_impossible_lengths_are_refused_at_once(length: int) -> None:
    """A length below a correlation id or above the bound is refused before its bytes arrive."""
    reader = FrameReader(100)
    reader.receive(length.to_bytes(4, "big", signed=True))
    with pytest.raises(DecodeError, match=rf"length of {length},.*4 to 100"):
        reader.next_frame()
