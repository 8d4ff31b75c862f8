"""Splits a byte stream into frames, as brokers do; memory grows only with received bytes."""

from zkconsumer.wire.framing import LENGTH_BYTES, checked_length


class FrameReader:
    """Splits bytes that arrive in pieces of any size into frames.

    Unusable after an error: where the next frame starts is unknown.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._needed = LENGTH_BYTES

    @property
    def missing_bytes(self) -> int:
        """Bytes that the next frame still needs, as far as known; 0 if it may be complete."""
        return max(0, self._needed - len(self._buffer))

    @property
    def is_empty(self) -> bool:
        """Whether all received bytes have been returned as frames."""
        return not self._buffer

    def receive(self, data: bytes | memoryview) -> None:
        """Append received bytes."""
        self._buffer += data

    def next_frame(self) -> memoryview | None:
        """Return the next frame without its length, or None until it is complete.

        Returns:
            A view that stays valid: the reader continues with a new buffer.

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
