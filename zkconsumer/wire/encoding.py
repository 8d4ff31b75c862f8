"""How lengths and counts are written: the part of the format that a protocol version can change.

There is one way up to Kafka 2.3: a signed big-endian number, -1 for null. The "flexible" versions
that followed write varints of length + 1 instead; they would be a second ``Encoding`` here, and
the choice between the two a field of ``Api``.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """A length or count in front of what it measures.

    Attributes:
        read: from a buffer and a position, the length (-1 for null) and the position behind it;
            raises ``struct.error`` where the buffer ends too early.
        write: the bytes for a length, -1 for null.
        min_bytes: how many bytes it takes at least.
        limit: the largest length it can say.
    """

    read: Callable[[memoryview, int], tuple[int, int]]
    write: Callable[[int], bytes]
    min_bytes: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """The prefixes of everything that has one."""

    text: Prefix
    blob: Prefix
    array: Prefix


def _fixed(code: str) -> Prefix:
    shape = struct.Struct(">" + code)
    size, unpack_from = shape.size, shape.unpack_from

    def read(buffer: memoryview, position: int) -> tuple[int, int]:
        length: int = unpack_from(buffer, position)[0]
        return length, position + size

    return Prefix(read=read, write=shape.pack, min_bytes=size, limit=(1 << (8 * size - 1)) - 1)


CLASSIC = Encoding(text=_fixed("h"), blob=_fixed("i"), array=_fixed("i"))
"""Lengths of text in two bytes, all others in four."""
