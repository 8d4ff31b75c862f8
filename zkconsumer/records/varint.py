"""Reads and writes integers of variable size, as in record batches (magic 2).

Each byte holds seven bits, the lowest first; its high bit is set if another byte follows. Signed
numbers are zigzag-encoded first: 0, -1, 1, -2 become 0, 1, 2, 3. An int32 takes at most five
bytes, an int64 ten.

Source: Kafka 0.11 ``ByteUtils.readVarint``, ``readVarlong``; KIP-98.
"""

from collections.abc import Callable

from zkconsumer.wire.encoding import write_uvarint


def _reader(bits: int) -> Callable[[bytes, int], tuple[int, int]]:
    def read(data: bytes, position: int) -> tuple[int, int]:
        byte = data[position]
        if byte < 0x80:
            return byte >> 1 ^ -(byte & 1), position + 1
        # Two bytes are as common: sizes from 64 bytes on, time deltas from 64 ms on.
        second = data[position + 1]
        if second < 0x80:
            return (byte & 0x7F | second << 7) >> 1 ^ -(byte & 1), position + 2
        return _read_long(data, position, bits)

    return read


read_varint = _reader(32)
"""Return an int32 and the position after it.

Raises:
    IndexError: the data ends within the number.
    ValueError: the number does not fit into 32 bits.
"""
read_varlong = _reader(64)
"""Return an int64 and the position after it; else like ``read_varint``."""


def varint(number: int) -> bytes:
    """Encode an int32 or an int64, whose encodings differ only in their limits."""
    return write_uvarint(number << 1 if number >= 0 else (-number << 1) - 1)


def _read_long(data: bytes, position: int, bits: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, bits, 7):
        byte = data[position]
        position += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            if found >> bits:
                break
            return found >> 1 ^ -(found & 1), position
    raise ValueError(f"a number of more than {bits} bits")
