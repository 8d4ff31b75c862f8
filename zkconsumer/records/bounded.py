"""Collects the output of decompressors in steps, so that it never exceeds a limit."""

from io import BytesIO

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.entries import unplaced

STEP_BYTES = 1 << 20
"""Maximum output, bytes, requested of a decompressor at once if another request costs nothing."""


class OverBound(CorruptRecord):
    """Decompressed data would exceed the limit; nothing larger was allocated."""


class BoundedOutput:
    """Gathers pieces of output; a single piece is not copied.

    Args:
        max_bytes: the limit.
    """

    __slots__ = ("_first", "_free_bytes", "_max_bytes", "_rest")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._free_bytes = max_bytes
        self._first = b""
        self._rest: BytesIO | None = None

    def step_bytes(self, most: int = STEP_BYTES) -> int:
        """Return how much to request next: at most one byte beyond the limit, to detect excess."""
        return min(most, self._free_bytes + 1)

    def expect(self, size_bytes: int) -> None:
        """Check the announced size of further output.

        Raises:
            OverBound: it exceeds the limit; previous output is released.
        """
        if size_bytes > self._free_bytes:
            self._first, self._rest = b"", None
            reason = f"decompresses to more than {self._max_bytes} bytes"
            raise unplaced(f"{reason}: raise fetch.max.decompressed.bytes", OverBound)

    def add(self, piece: bytes) -> None:
        """Append a piece.

        Raises:
            OverBound: it exceeds the limit; all output is released.
        """
        self.expect(len(piece))
        self._free_bytes -= len(piece)
        if self._rest is not None:
            self._rest.write(piece)
        elif not self._first:
            self._first = piece
        else:
            self._rest = BytesIO()
            self._rest.write(self._first)
            self._rest.write(piece)
            self._first = b""

    def whole(self) -> bytes:
        """Return all output in one piece; a single piece is not copied."""
        return self._first if self._rest is None else self._rest.getvalue()
