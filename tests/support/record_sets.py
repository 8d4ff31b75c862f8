"""Small record sets for tests of the record layer and of the layers above it."""

import gzip
import struct
import zlib

from zkconsumer.model import Record, TimestampType
from zkconsumer.records import decode as definition
from zkconsumer.records.decode import DecodedSet

ROOM = 1 << 20

decoder = definition.decode_record_set
"""The decoder that ``decode`` uses; see ``engines.each_engine``."""


def records(*offsets: int, magic: int = 0) -> list[Record]:
    """Return a record for each offset, whose key and value contain the offset."""
    stamps = (
        (-1, TimestampType.NONE) if magic == 0 else (1_600_000_000_000, TimestampType.CREATE_TIME)
    )
    return [
        Record(offset, f"k{offset}".encode(), f"value {offset}".encode() * 3, *stamps)
        for offset in offsets
    ]


def decode(data: bytes | memoryview, fetch_offset: int = 0, room: int = ROOM) -> DecodedSet:
    """Decode with ample memory."""
    return decoder(data, fetch_offset=fetch_offset, max_decompressed_bytes=room)


def raw_message(
    offset: int, body: bytes, *, magic: int = 0, attributes: int = 0, stamp: bytes = b""
) -> bytes:
    """Build an entry with any body and the matching CRC, which our builders would not write."""
    rest = struct.pack(">bb", magic, attributes) + stamp + body
    message = struct.pack(">I", zlib.crc32(rest)) + rest
    return struct.pack(">qi", offset, len(message)) + message


def wrapper_around(offset: int, value: bytes, *, codec: int = 1, magic: int = 0) -> bytes:
    """Build a compressed message whose value is exactly these bytes."""
    body = struct.pack(">ii", -1, len(value)) + value
    stamp = struct.pack(">q", -1) if magic else b""
    return raw_message(offset, body, magic=magic, attributes=codec, stamp=stamp)


def gzip_of_zeros(megabytes: int) -> bytes:
    """Compress this many MiB of zeros without holding them in memory."""
    packer = zlib.compressobj(wbits=31)
    block = bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def gzip_of(data: bytes) -> bytes:
    """Compress into one gzip member."""
    return gzip.compress(data, mtime=0)
