"""Computes Spark's 64-bit xxHash in Python, as the slow fallback for the native core.

Source: Spark's ``XXH64`` and ``HashExpression``; xxHash's own specification. Pure.
"""

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SEED = 42


def xxhash64(data: bytes, seed: int) -> int:
    """Return the hash of some bytes."""
    size, at = len(data), 0
    value = (seed + _P5) & _MASK
    if size >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while size - at >= 32:
            lanes = [
                _mixed(lane, int.from_bytes(data[at + 8 * n : at + 8 * n + 8], "little"))
                for n, lane in enumerate(lanes)
            ]
            at += 32
        rolled = (_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        value = sum(rolled) & _MASK
        for lane in lanes:
            value = ((value ^ _mixed(0, lane)) * _P1 + _P4) & _MASK
    value = (value + size) & _MASK
    while size - at >= 8:
        value ^= _mixed(0, int.from_bytes(data[at : at + 8], "little"))
        value = (_rotated(value, 27) * _P1 + _P4) & _MASK
        at += 8
    if size - at >= 4:
        value ^= int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK
        value = (_rotated(value, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        value = _rotated(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def row_hash(
    offset: int, key: bytes | None, value: bytes | None, micros: int | None, timestamp_type: int
) -> int:
    """Return a message's hash, unsigned: each column is seeded with the hash so far."""
    found = _of_long(offset, _SEED)
    for binary in (key, value):
        found = _of_int(int(binary is None), found)
        if binary is not None:
            found = xxhash64(binary, found)
    if micros is not None:
        found = _of_long(micros, found)
    return _of_int(timestamp_type, found)


def _of_long(number: int, seed: int) -> int:
    return xxhash64((number & _MASK).to_bytes(8, "little"), seed)


def _of_int(number: int, seed: int) -> int:
    return xxhash64((number & 0xFFFFFFFF).to_bytes(4, "little"), seed)


def _mixed(lane: int, word: int) -> int:
    return _rotated((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (64 - bits)) & _MASK
