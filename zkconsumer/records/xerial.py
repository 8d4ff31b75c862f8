"""Reads and writes snappy-java's frames around raw snappy blocks, and reads the blocks' sizes.

A stream is 16 bytes of header (magic, version, lowest compatible version), then blocks: a
big-endian int32 length and that many bytes of raw snappy. Some producers that do not run on the
JVM send one raw snappy block without a frame; the original's readers accept both.

Source: snappy-java ``SnappyInputStream`` and ``SnappyOutputStream``.
"""

import struct
from collections.abc import Iterable, Iterator

MAGIC = b"\x82SNAPPY\x00"
HEADER = MAGIC + struct.pack(">ii", 1, 1)
BLOCK_BYTES = 32768
"""The size of a block of the original's producer, before compression."""

_MAX_EXPANSION = 32
"""Snappy's densest element expands 3 bytes to 64; a block that announces more is invalid."""

_INT32 = struct.Struct(">i")


def blocks_in(data: bytes) -> Iterator[bytes]:
    """Yield the raw snappy blocks, whether framed or bare.

    Raises:
        ValueError: a block's length contradicts the data.
    """
    if not data.startswith(MAGIC):
        yield data
        return
    position = 0
    while position < len(data):
        if data.startswith(MAGIC, position):  # streams may be concatenated
            position += len(HEADER)
            if position > len(data):
                raise ValueError("snappy header cut off")
            continue
        if len(data) - position < 4:
            raise ValueError(f"snappy block length cut off at byte {position}")
        (size,) = _INT32.unpack_from(data, position)
        start = position + 4
        if not 0 <= size <= len(data) - start:
            raise ValueError(f"snappy block of {size} bytes at byte {position} of {len(data)}")
        yield data[start : start + size]
        position = start + size


def uncompressed_size(block: bytes) -> int:
    """Return the decompressed size that a raw snappy block announces.

    Raises:
        ValueError: the header is malformed, or announces more than the block can hold.
    """
    size = 0
    for shift, byte in zip(range(0, 35, 7), block, strict=False):
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    else:
        raise ValueError("snappy block without a length")
    if size > len(block) * _MAX_EXPANSION:
        raise ValueError(f"snappy block of {len(block)} bytes claims to hold {size}")
    return size


def frame(blocks: Iterable[bytes]) -> bytes:
    """Frame raw snappy blocks as snappy-java does."""
    parts = [HEADER]
    for block in blocks:
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)
