"""Codecs on real threads and without their libraries (the unit tests hold the rest)."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import zstandard

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.bounded import OverBound
from zkconsumer.records.codecs import Codec, decompress

TEXT = b"".join(b"line %d of a log\n" % number for number in range(9000))
MEBIBYTE = 1 << 20


def test_zstd_decompressors_can_be_reused() -> None:
    """Damaged frames before, and other threads meanwhile, do not affect the result."""
    texts = [bytes([at]) * 5000 + TEXT for at in range(8)]
    packed = [zstandard.compress(text) for text in texts]

    def unpack(turn: int) -> bool:
        at = turn % len(texts)
        damaged = bytearray(packed[at])
        damaged[len(damaged) // 2] ^= 0x55
        with suppress(CorruptRecord):
            decompress(Codec.ZSTD, bytes(damaged), magic=2, max_bytes=MEBIBYTE)
        with pytest.raises(OverBound):
            decompress(Codec.ZSTD, packed[at], magic=2, max_bytes=10)
        return decompress(Codec.ZSTD, packed[at], magic=2, max_bytes=MEBIBYTE) == texts[at]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(unpack, range(200)))


OPTIONAL = [(Codec.LZ4, "lz4", "lz4.frame", "lz4"), (Codec.ZSTD, "zstd", "zstandard", "zstandard")]


@pytest.mark.parametrize(("codec", "extra", "module", "package"), OPTIONAL)
def test_a_missing_library_names_the_extra(
    codec: Codec, extra: str, module: str, package: str
) -> None:
    """Compression and decompression both say what to install; the other codecs work."""
    script = f"""
import sys
sys.modules["{package}"] = sys.modules["{module}"] = None
from zkconsumer.errors import UnsupportedCodec
from zkconsumer.records.codecs import Codec, compress, decompress
for call in (
    lambda: compress(Codec.{codec.name}, b"x", magic=0),
    lambda: decompress(Codec.{codec.name}, b"x", magic=0, max_bytes=9),
):
    try:
        call()
    except UnsupportedCodec as error:
        print(error.reason)
print(decompress(Codec.GZIP, compress(Codec.GZIP, b"ok", magic=0), magic=0, max_bytes=9))
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    advice = f"{extra} needs the {package} package: pip install 'zkconsumer[{extra}]'"
    assert run.stdout.splitlines() == [advice, advice, "b'ok'"]
