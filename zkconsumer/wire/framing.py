"""Validates the length prefix of a frame, before the frame is read or memory is allocated."""

import struct

from zkconsumer.errors import DecodeError

_LENGTH = struct.Struct(">i")
LENGTH_BYTES = _LENGTH.size
MIN_FRAME_BYTES = 4
"""A frame holds at least a correlation id."""


def checked_length(
    prefix: bytes | bytearray | memoryview,
    max_frame_bytes: int,
    min_frame_bytes: int = MIN_FRAME_BYTES,
) -> int:
    """Return the frame length in a prefix of four bytes or more.

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
        "what was requested: the peer speaks another protocol, or a bound on sizes is too low",
    )
