"""Bytes as they come in, cut into frames.

Every frame starts with its length. The rule: a length is checked before it is believed, and memory
is only taken for bytes that have arrived.
"""

import struct

from zkconsumer.errors import DecodeError

_LENGTH = struct.Struct(">i")
LENGTH_BYTES = _LENGTH.size
MIN_FRAME_BYTES = 4
"""No frame is shorter than a correlation id."""


def checked_length(
    prefix: bytes | bytearray | memoryview,
    max_frame_bytes: int,
    min_frame_bytes: int = MIN_FRAME_BYTES,
) -> int:
    """Return the length of the frame that these bytes, four or more, announce.

    Raises:
        DecodeError: it is negative, too small, or above the bound.
    """
    (length,) = _LENGTH.unpack_from(prefix)
    if min_frame_bytes <= length <= max_frame_bytes:
        return int(length)
    raise DecodeError(
        "Frame",
        "length",
        0,
        f"a length of {length}, but only {min_frame_bytes} to {max_frame_bytes} make sense for "
        "what was asked: the peer speaks another protocol, or a bound on sizes is too low",
    )


class FrameReader:
    """Takes bytes in pieces of any size, gives whole frames.

    After an error it is of no more use: where the next frame starts is unknown.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._needed = LENGTH_BYTES

    @property
    def missing_bytes(self) -> int:
        """How many bytes the next frame still needs, as far as known; 0 if it may be there."""
        return max(0, self._needed - len(self._buffer))

    @property
    def is_empty(self) -> bool:
        """Whether it stands between two frames, with nothing left over."""
        return not self._buffer

    def receive(self, data: bytes | memoryview) -> None:
        """Take what came."""
        self._buffer += data

    def next_frame(self) -> memoryview | None:
        """Return the next frame without its length, or None until all of it is there.

        Returns:
            A view that stays valid: the reader goes on with a buffer of its own.

        Raises:
            DecodeError: the length is negative, too small, or above the bound.
        """
        if len(self._buffer) < LENGTH_BYTES:
            return None
        length = checked_length(self._buffer, self._max_frame_bytes)
        self._needed = LENGTH_BYTES + length
        if len(self._buffer) < self._needed:
            return None
        whole = memoryview(self._buffer).toreadonly()
        frame = whole[LENGTH_BYTES : self._needed]
        self._buffer = bytearray(whole[self._needed :])
        self._needed = LENGTH_BYTES
        return frame
