"""CRC-32 in Python: whichever library computes it, it is the same."""

import os
import random
import subprocess
import sys
import zlib
from importlib import import_module

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.records import checksum

ASK = "from zkconsumer.records import checksum; print(checksum.NAME, checksum.crc32(b'123456789'))"
isal_zlib = import_module("isal.isal_zlib")


def asked(before: str = "") -> str:
    """Ask a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", before + ASK],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_isal_computes_it_where_it_is_installed() -> None:
    """As in the environment that the tests need; and its check value is that of CRC-32."""
    assert checksum.NAME == "isal"
    assert checksum.crc32 is isal_zlib.crc32
    assert asked() == f"isal {0xCBF43926}"


def test_zlib_does_where_it_is_not() -> None:
    """The extra is not needed."""
    assert asked("import sys; sys.modules['isal'] = None; ") == f"zlib {0xCBF43926}"
    assert asked("import sys; sys.modules['isal.isal_zlib'] = None; ") == f"zlib {0xCBF43926}"


def test_both_say_the_same_at_every_length_and_alignment() -> None:
    """Short ones, those around each stride of vector code, and long ones, wherever they begin."""
    data = random.Random(1).randbytes(70_000)
    for size in (*range(300), 511, 512, 513, 1010, 4096, 65_536):
        for start in range(17 if size < 300 else 3):
            part = memoryview(data)[start : start + size]
            assert isal_zlib.crc32(part) == zlib.crc32(part)


@given(st.binary(max_size=2_000), st.binary(max_size=2_000))
def test_both_go_on_in_the_same_way(front: bytes, rest: bytes) -> None:
    """The CRC of two parts, one after the other, is that of the whole."""
    whole = zlib.crc32(front + rest)
    for crc32 in (zlib.crc32, isal_zlib.crc32, checksum.crc32):
        assert crc32(rest, crc32(front)) == crc32(front + rest) == whole
