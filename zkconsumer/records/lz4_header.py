"""Converts the header of LZ4 frames, which has a wrong checksum in Kafka's magic 0.

``magic (4) | FLG | BD | content size (8, if flagged in FLG) | header checksum``. The checksum is
the second byte of xxHash32 over FLG, BD and content size. Kafka's producers up to 0.9, and every
writer of magic 0 after them, hash the frame's magic as well (KAFKA-3160), which libraries reject.

Covers LZ4 frame format 1.5.1 and Kafka 0.8.2 to 3.x (``KafkaLZ4BlockInputStream``).
"""

MAGIC = b"\x04\x22\x4d\x18"

_CONTENT_SIZE = 0x08
_DICTIONARY = 0x01
_MASK = 0xFFFFFFFF
_PRIMES = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)


def repaired(frame: bytes, *, magic: int) -> bytes:
    """Return the frame with the standard checksum.

    Args:
        frame: an LZ4 frame in a message of the given magic.
        magic: 0 accepts Kafka's wrong checksum and the right one; later ones the right one only.

    Raises:
        ValueError: not an LZ4 frame, or its header is damaged.
    """
    checksum_at = _checksum_position(frame)
    standard = _checksum(frame[4:checksum_at])
    found = frame[checksum_at]
    if found == standard:
        return frame
    if magic != 0 or found != _checksum(frame[:checksum_at]):
        raise ValueError(f"lz4 header checksum is {found:#04x}, should be {standard:#04x}")
    return frame[:checksum_at] + bytes((standard,)) + frame[checksum_at + 1 :]


def with_kafka_checksum(frame: bytes) -> bytes:
    """Return a standard frame with the checksum of magic 0."""
    checksum_at = _checksum_position(frame)
    checksum = _checksum(frame[:checksum_at])
    return frame[:checksum_at] + bytes((checksum,)) + frame[checksum_at + 1 :]


def _checksum_position(frame: bytes) -> int:
    if not frame.startswith(MAGIC):
        raise ValueError("not an lz4 frame")
    if len(frame) < 7:
        raise ValueError("lz4 header cut off")
    if frame[4] & _DICTIONARY:
        raise ValueError("lz4 frame needs a dictionary")
    position = 14 if frame[4] & _CONTENT_SIZE else 6
    if len(frame) <= position:
        raise ValueError("lz4 header cut off")
    return position


def _checksum(header: bytes) -> int:
    return xxh32_of_short(header) >> 8 & 0xFF


def xxh32_of_short(data: bytes) -> int:
    """Return xxHash32 with seed 0 of fewer than 16 bytes: enough for a frame header."""
    p1, p2, p3, p4, p5 = _PRIMES
    value = p5 + len(data)
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value += int.from_bytes(data[at : at + 4], "little") * p3
        value = _rotated(value, 17) * p4
    for byte in data[words:]:
        value += byte * p5
        value = _rotated(value, 11) * p1
    value &= _MASK
    value = (value ^ value >> 15) * p2 & _MASK
    value = (value ^ value >> 13) * p3 & _MASK
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK
