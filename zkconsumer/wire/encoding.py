"""The encoding of lengths and counts: the part of the format that depends on the version.

Up to Kafka 2.3 they are signed big-endian numbers, -1 for null. Flexible versions (KIP-482) write
length + 1 as a varint instead, 0 for null, and end every struct with a section of tagged fields.
The ``Api`` says which versions are flexible.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from zkconsumer.wire.fault import Fault

MAX_UVARINT = (1 << 32) - 1
_UVARINT_BYTES = 5


class Prefix(NamedTuple):
    """The encoding of a length or count.

    Attributes:
        read: returns the length (-1 for null) at a position of a buffer, and the position after it;
            raises ``struct.error`` if the buffer ends too early, ``Fault`` for an invalid number.
        write: returns the bytes of a length, -1 for null.
        min_bytes: the minimum size of the prefix itself.
        limit: the largest length that it can encode.
    """

    read: Callable[[memoryview, int], tuple[int, int]]
    write: Callable[[int], bytes]
    min_bytes: int
    limit: int


class Encoding(NamedTuple):
    """The prefixes of texts, bytes and arrays, and whether structs end with tagged fields."""

    text: Prefix
    blob: Prefix
    array: Prefix
    has_tags: bool = False


def _fixed(code: str) -> Prefix:
    shape = struct.Struct(">" + code)
    size, unpack_from = shape.size, shape.unpack_from

    def read(buffer: memoryview, position: int) -> tuple[int, int]:
        length: int = unpack_from(buffer, position)[0]
        return length, position + size

    return Prefix(read=read, write=shape.pack, min_bytes=size, limit=(1 << (8 * size - 1)) - 1)


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    """Return an unsigned varint of up to 32 bits, and the position after it.

    Raises:
        struct.error: the buffer ends within it.
        Fault: it has more than 32 bits.
    """
    value = shift = 0
    for place in range(position, min(position + _UVARINT_BYTES, len(buffer))):
        byte = buffer[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value <= MAX_UVARINT:
            return value, place + 1
        shift += 7
    if position + _UVARINT_BYTES > len(buffer) and value <= MAX_UVARINT:
        raise struct.error("the bytes end within a varint")
    raise Fault("a varint of more than 32 bits", position=position)


def write_uvarint(value: int) -> bytes:
    """Return the bytes of an unsigned varint."""
    if value < 0x80:
        return bytes((value,))
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _read_compact(buffer: memoryview, position: int) -> tuple[int, int]:
    value, position = read_uvarint(buffer, position)
    return value - 1, position


def _write_compact(length: int) -> bytes:
    return write_uvarint(length + 1)


CLASSIC = Encoding(text=_fixed("h"), blob=_fixed("i"), array=_fixed("i"))
"""Two-byte lengths for texts, four-byte lengths for bytes and arrays."""

_COMPACT = Prefix(read=_read_compact, write=_write_compact, min_bytes=1, limit=(1 << 31) - 2)

FLEXIBLE = Encoding(text=_COMPACT, blob=_COMPACT, array=_COMPACT, has_tags=True)
"""All lengths plus one, as varints; tagged fields after every struct. Source: KIP-482."""
