"""Bytes as they come in, cut into frames.

Every frame starts with its length. The rule: a length is checked before it is believed, and memory
is only taken for bytes that have arrived.
"""

import struct

from zkconsumer.errors import DecodeError

_LENGTH = struct.Struct(">i")
MIN_FRAME_BYTES = 4
"""No frame is shorter than a correlation id."""


class FrameReader:
    """Takes bytes in pieces of any size, gives whole frames.

    After an error it is of no more use: where the next frame starts is unknown.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._needed = _LENGTH.size

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
        """The next frame without its length, or None until all of it is there.

        Returns:
            A view that stays valid: the reader goes on with a buffer of its own.

        Raises:
            DecodeError: the length is negative, too small, or above the bound.
        """
        if len(self._buffer) < _LENGTH.size:
            return None
        self._needed = _LENGTH.size + self._checked_length(_LENGTH.unpack_from(self._buffer)[0])
        if len(self._buffer) < self._needed:
            return None
        whole = memoryview(self._buffer).toreadonly()
        frame = whole[_LENGTH.size : self._needed]
        self._buffer = bytearray(whole[self._needed :])
        self._needed = _LENGTH.size
        return frame

    def _checked_length(self, length: int) -> int:
        if MIN_FRAME_BYTES <= length <= self._max_frame_bytes:
            return length
        raise DecodeError(
            "Frame",
            "length",
            0,
            f"a length of {length}, but only {MIN_FRAME_BYTES} to {self._max_frame_bytes} make "
            "sense: the peer speaks another protocol, or the bound on responses is too low",
        )
