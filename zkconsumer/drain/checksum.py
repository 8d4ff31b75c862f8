"""Defines the checksum, row count and offset bounds of a set of messages.

The checksum depends on the messages alone, not on their order, on how they are divided into files
and tasks, or on the file format. So the staged rows of a batch, the landed files read years later
and the cluster itself can be compared. It is the sum, modulo 2**64, of Spark's 64-bit xxHash over a
message's offset, key, value and timestamp; sums of parts add up to the sum of the whole. Whether
key and value are null is hashed, too, so that null differs from empty, and a key from a value. The
checksum detects damage, loss and swapped messages; it is not a cryptographic signature.
"""

import re
from dataclasses import dataclass
from typing import Self

_BITS = 64
_DIGITS = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, order=True)
class Checksum:
    """A sum of message hashes modulo 2**64; written as 16 hexadecimal digits."""

    total: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.total % (1 << _BITS))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total)

    def __str__(self) -> str:
        return f"{self.total:016x}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the result of ``str``.

        Raises:
            ValueError: the text is not 16 lower-case hexadecimal digits.
        """
        if not _DIGITS.fullmatch(text):
            raise ValueError(f"{text!r} is not a checksum: 16 lower-case hexadecimal digits")
        return cls(int(text, 16))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The count, offset bounds and checksum of messages of one topic-partition.

    Attributes:
        rows: the number of messages, duplicates included.
        first_offset: the smallest offset; None without rows.
        last_offset: the largest offset, inclusive; None without rows.
        checksum: the checksum of all these messages.
    """

    rows: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    checksum: Checksum = Checksum()

    def __add__(self, other: Self) -> Self:
        firsts = _known(self.first_offset, other.first_offset)
        lasts = _known(self.last_offset, other.last_offset)
        return type(self)(
            rows=self.rows + other.rows,
            first_offset=min(firsts, default=None),
            last_offset=max(lasts, default=None),
            checksum=self.checksum + other.checksum,
        )


def _known(*offsets: int | None) -> list[int]:
    return [offset for offset in offsets if offset is not None]
