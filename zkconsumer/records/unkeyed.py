"""The fastest path, for the most common messages: small, of magic 0, with a value and no key.

Their layout follows from their size, so one ``struct`` of that size reads a whole message, and the
CRC of the bytes before the value is known in advance. Anything else, valid or not, is left to
``legacy``, the reference.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from zkconsumer.records.checksum import LARGE_BYTES, Crc32, crc32_large, crc32_small
from zkconsumer.records.entries import HEADER_BYTES, MIN_ENTRY_SIZE, Gathered
from zkconsumer.records.memory import VALUE_ONLY_BYTES

_LARGEST = 2048
"""The largest entry size with a shape, to limit their number; a shape takes less than 1 KB."""

_SIZE_AT = 8
_SIZE = struct.Struct(">i")
_FRONT = struct.Struct(">bbii")  # magic, attributes, key length, value length
_OVERHEAD_BYTES = HEADER_BYTES + MIN_ENTRY_SIZE


class _Shape(NamedTuple):
    """The layout of entries of one size.

    Attributes:
        read: unpacks offset, CRC, front and value, and the size of the next entry.
        front: the bytes between CRC and value.
        front_crc: their CRC, from which the value's continues.
        crc32: the CRC-32 implementation for this size.
        stride: the distance to the next entry.
    """

    read: Callable[[bytes, int], tuple[int, int, bytes, bytes, int]]
    front: bytes
    front_crc: int
    crc32: Crc32
    stride: int


class Shapes(dict[int, _Shape]):
    """The shapes by entry size, made on first use; thread-safe."""

    def __missing__(self, size: int) -> _Shape:
        if not MIN_ENTRY_SIZE < size <= _LARGEST:
            raise KeyError(size)
        value_bytes = size - MIN_ENTRY_SIZE
        front = _FRONT.pack(0, 0, -1, value_bytes)
        shape = self[size] = _Shape(
            struct.Struct(f">q4xI{_FRONT.size}s{value_bytes}s8xi").unpack_from,
            front,
            crc32_small(front),
            crc32_small if size < LARGE_BYTES else crc32_large,
            HEADER_BYTES + size,
        )
        return shape


_shapes = Shapes()


def read_unkeyed(data: bytes, position: int, gathered: Gathered) -> int:
    """Read unkeyed messages as long as their offsets ascend from the fetch offset on.

    Returns:
        The position of the first entry not read, which may still be an unkeyed message.
    """
    start, rows = position, gathered.rows
    count = len(rows)
    position = _read_varied(data, _read_alike(data, start, gathered), gathered)
    count = len(rows) - count
    if count:
        gathered.memory_bytes += position - start + count * (VALUE_ONLY_BYTES - _OVERHEAD_BYTES)
        gathered.advance(rows[-1][0])
    return position


def _read_alike(data: bytes, position: int, gathered: Gathered) -> int:
    """Read consecutive messages of the same size with one ``struct`` iterator."""
    if len(data) - position < _OVERHEAD_BYTES:
        return position
    (size,) = _SIZE.unpack_from(data, position + _SIZE_AT)
    try:
        _, front, front_crc, crc32, stride = _shapes[size]
    except KeyError:
        return position
    rows = gathered.rows
    append, count = rows.append, len(rows)
    last = _floor(gathered) - 1
    stop = position + (len(data) - position) // stride * stride
    shape = f">qiI{_FRONT.size}s{size - MIN_ENTRY_SIZE}s"
    entries = struct.iter_unpack(shape, memoryview(data)[position:stop])
    for offset, found_size, crc, found_front, value in entries:
        if (
            offset <= last
            or found_size != size
            or found_front != front
            or crc32(value, front_crc) != crc
        ):
            break
        append((offset, None, value, -1, -1))
        last = offset
    return position + (len(rows) - count) * stride


def _read_varied(data: bytes, position: int, gathered: Gathered) -> int:
    """Read messages of any size, each with the size of the next, so the last is left unread."""
    if len(data) - position < _OVERHEAD_BYTES:
        return position
    (size,) = _SIZE.unpack_from(data, position + _SIZE_AT)
    rows = gathered.rows
    append, shapes = rows.append, _shapes
    last = rows[-1][0] if rows else _floor(gathered) - 1
    try:
        while True:
            read, front, front_crc, crc32, stride = shapes[size]
            offset, crc, found_front, value, size = read(data, position)
            if offset <= last or found_front != front or crc32(value, front_crc) != crc:
                break
            append((offset, None, value, -1, -1))
            last = offset
            position += stride
    except (KeyError, struct.error):
        # A size without a shape, or the end of the data.
        pass
    return position


def _floor(gathered: Gathered) -> int:
    return max(gathered.fetch_offset, 0)
