"""DEFLATE streams as no ordinary compressor writes them, against zlib's own decoder."""

import random
import struct
import time
import zlib
from collections.abc import Callable
from importlib import import_module

from tests.support.engines import needs_native

pytestmark = needs_native

MEBIBYTE = 1 << 20


def member(deflated: bytes, made: bytes) -> bytes:
    """A gzip member around a DEFLATE stream."""
    tail = struct.pack("<II", zlib.crc32(made), len(made))
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00" + deflated + tail


def unpacked(packed: bytes) -> object:
    """What the core makes of it."""
    core = import_module("zkconsumer.native._core")
    return core.decompress(1, packed, magic=0, max_bytes=16 * MEBIBYTE)


def blocks(data: bytes, *, level: int, strategy: int, is_last: bool) -> bytes:
    """DEFLATE blocks that end on a whole byte."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return packer.compress(data) + packer.flush(zlib.Z_FINISH if is_last else zlib.Z_FULL_FLUSH)


def test_blocks_of_all_kinds_in_any_order() -> None:
    """Each uses its own codes, whatever the one before it used."""
    chance = random.Random(1)
    kinds = [(0, zlib.Z_DEFAULT_STRATEGY), (9, zlib.Z_DEFAULT_STRATEGY), (9, zlib.Z_FIXED)]
    seen = set()
    for _ in range(100):
        parts = [bytes(chance.choices(b"abcdefgh\n", k=500 + 100 * at)) for at in range(6)]
        stream = b""
        for part in parts:
            level, strategy = chance.choice(kinds)
            made = blocks(part, level=level, strategy=strategy, is_last=part is parts[-1])
            seen.add(made[0] >> 1 & 3)
            stream += made
        assert unpacked(member(stream, b"".join(parts))) == b"".join(parts)
    assert seen == {0, 1, 2}  # stored, with fixed codes, with codes of their own


def many_empty_blocks(count: int) -> bytes:
    """So many blocks with the fixed codes, of ten bits each, that make nothing."""
    first = int("0000000010", 2)  # read from the right: not the last, fixed codes, end of block
    bits = sum(first << 10 * number for number in range(4)).to_bytes(5, "little")
    last = int("0000000011", 2).to_bytes(2, "little")
    return bits * (count // 4) + last


def test_empty_blocks_cost_next_to_nothing() -> None:
    """A million of them fit into a message: each must not cost the making of its codes."""
    packed = member(many_empty_blocks(40_000), b"")

    def best_of(decode: Callable[[bytes], object]) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            assert decode(packed) == b""
            times.append(time.perf_counter() - started)
        return min(times)

    zlibs = best_of(lambda data: zlib.decompressobj(31).decompress(data))
    assert (
        best_of(unpacked) < 30 * zlibs
    )  # it is about as fast; making codes took 400 times as long
