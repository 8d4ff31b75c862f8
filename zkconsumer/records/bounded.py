"""What a decompressor makes, taken step by step, so that no more than a bound is ever held."""

from io import BytesIO

from zkconsumer.errors import CorruptRecord

STEP_BYTES = 1 << 20
"""The most that a decompressor is asked for at once, where asking again costs nothing."""


class OverBound(CorruptRecord):
    """Decompressed data would pass the bound; nothing larger was allocated."""


class BoundedOutput:
    """Gathers pieces of output; small ones, which come in one piece, are not copied.

    Args:
        max_bytes: the most that may come.
    """

    __slots__ = ("_first", "_free_bytes", "_max_bytes", "_rest")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._free_bytes = max_bytes
        self._first = b""
        self._rest: BytesIO | None = None

    def step_bytes(self, most: int = STEP_BYTES) -> int:
        """How much to ask for next: one byte beyond the bound at most, which tells of more."""
        return min(most, self._free_bytes + 1)

    def expect(self, size_bytes: int) -> None:
        """Refuse what is going to come, if it is too much.

        Raises:
            OverBound: it is; what came before is let go of.
        """
        if size_bytes > self._free_bytes:
            self._first, self._rest = b"", None
            reason = f"decompresses to more than {self._max_bytes} bytes"
            raise OverBound(
                f"{reason}: raise fetch.max.decompressed.bytes",
                offset=-1,
                position=0,
                next_offset=None,
            )

    def add(self, piece: bytes) -> None:
        """Take the next piece.

        Raises:
            OverBound: it is beyond the bound; it and all before it are let go of.
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
        """Return all that came, in one piece; it is not copied for that."""
        return self._first if self._rest is None else self._rest.getvalue()
