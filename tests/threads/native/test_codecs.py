"""Decompression with little memory, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engines import needs_native
from tests.support.record_sets import gzip_of_zeros
from zkconsumer.records.codecs import Codec, compress

pytestmark = needs_native

MEBIBYTE = 1 << 20
IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from zkconsumer.native import _core
pages = int(Path("/proc/self/statm").read_text().split()[0])
here = pages * resource.getpagesize()
packed = Path(sys.argv[2]).read_bytes()
resource.setrlimit(resource.RLIMIT_AS, (here + (48 << 20), resource.RLIM_INFINITY))
try:
    print(_core.decompress(int(sys.argv[1]), packed, magic=2, max_bytes=int(sys.argv[3])))
except MemoryError:
    print("no memory")
"""


def in_little_memory(codec: Codec, packed: bytes, folder: Path, *, max_bytes: int) -> str:
    """Decompress in a process that may use 48 MiB more than it has when it starts."""
    file = folder / "packed"
    file.write_bytes(packed)
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, str(int(codec)), str(file), str(max_bytes)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def bomb(codec: Codec) -> bytes:
    """Compress 200 MiB of zeros into a frame that does not declare that size."""
    if codec is Codec.GZIP:
        return gzip_of_zeros(200)
    if codec is Codec.ZSTD:
        packer = pytest.importorskip("zstandard").ZstdCompressor().compressobj()
        return bytes(packer.compress(bytes(200 * MEBIBYTE)) + packer.flush())
    return compress(codec, bytes(200 * MEBIBYTE), magic=2)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_memory_is_allocated_only_as_data_is_decompressed(codec: Codec, tmp_path: Path) -> None:
    """A bomb is refused at the limit; without that much memory it is an error, not a crash."""
    packed = bomb(codec)
    assert in_little_memory(codec, packed, tmp_path, max_bytes=MEBIBYTE) == "None"
    assert in_little_memory(codec, packed, tmp_path, max_bytes=1 << 30) == "no memory"
