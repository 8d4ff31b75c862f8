"""CRC-32 in Python is the same whichever library computes it."""

import random
import zlib
from importlib import import_module
from itertools import cycle

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.records import checksum

isal_zlib = import_module("isal.isal_zlib")


def test_isal_is_used_if_installed() -> None:
    """The tests' environment has it."""
    assert checksum.libraries() == {"zlib": zlib.crc32, "isal": isal_zlib.crc32}
    assert checksum.NAME in ("zlib", "isal", "zlib and isal", "isal and zlib")
    names = checksum.NAME.split(" and ")
    assert checksum.crc32_small is checksum.libraries()[names[0]]
    assert checksum.crc32_large is checksum.libraries()[names[-1]]


def test_the_fastest_library_is_chosen() -> None:
    """The best round counts, as others may be disturbed; a single candidate is not measured."""
    now_ns, calls = 0, 0

    def computing(*costs_ns: int) -> checksum.Crc32:
        rounds = cycle(costs_ns)

        def crc32(data: bytes) -> int:
            nonlocal now_ns, calls
            calls += 1
            now_ns += next(rounds) * len(data)
            return 0

        return crc32

    candidates = {"even": computing(30), "at times": computing(*[99] * 20, *[20] * 20)}
    assert checksum.quickest(candidates, 100, lambda: now_ns) == "at times"
    assert checksum.quickest({**candidates, "new": computing(19)}, 10, lambda: now_ns) == "new"
    before = calls
    assert checksum.quickest({"only": computing(1)}, 10, lambda: now_ns) == "only"
    assert calls == before


def test_both_libraries_agree_at_every_length_and_alignment() -> None:
    """Short lengths, those around each stride of vector code, and long ones are tried."""
    data = random.Random(1).randbytes(70_000)
    for size in (*range(300), 511, 512, 513, 1010, 4096, 65_536):
        for start in range(17 if size < 300 else 3):
            part = memoryview(data)[start : start + size]
            assert isal_zlib.crc32(part) == zlib.crc32(part)


@given(st.binary(max_size=2_000), st.binary(max_size=2_000))
def test_both_libraries_continue_a_crc_alike(front: bytes, rest: bytes) -> None:
    """The CRC continued over two parts is that of the whole."""
    whole = zlib.crc32(front + rest)
    for crc32 in (zlib.crc32, isal_zlib.crc32, checksum.crc32_small, checksum.crc32_large):
        assert crc32(rest, crc32(front)) == crc32(front + rest) == whole
