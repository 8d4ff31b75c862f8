"""Decompression by libraries in the native core: with bounded memory, and clear reports."""

import zlib
from importlib import import_module

import pytest

from tests.support.engines import needs_native
from zkconsumer.records import engine
from zkconsumer.records.codecs import Codec, compress, decompress

pytestmark = needs_native


def test_a_zstd_window_that_is_too_large_is_refused() -> None:
    """As in Python, memory for more than 128 MiB is not even requested."""
    core = import_module("zkconsumer.native._core")
    library = pytest.importorskip("zstandard")

    def with_window(log: int) -> bytes:
        # The magic, no size and no checksum, the window, and one last raw block.
        return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3]) + b"\x21\x00\x00text"

    assert core.decompress(4, with_window(27), magic=2, max_bytes=1 << 20) == b"text"
    frame = with_window(28)
    assert core.decompress(4, frame, magic=2, max_bytes=1 << 20) is None
    with pytest.raises(library.ZstdError):
        library.ZstdDecompressor(max_window_size=1 << 27).stream_reader(frame).read()


def test_a_gzip_header_with_a_checksum_is_left_to_python() -> None:
    """Nobody writes such gzip headers; the implementation in Python reads them."""
    core = import_module("zkconsumer.native._core")
    head = b"\x1f\x8b\x08\x02\x00\x00\x00\x00\x00\x03"
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    packed = head + compress(Codec.GZIP, b"text", magic=0)[10:]
    assert core.decompress(1, packed, magic=0, max_bytes=4) is None
    assert decompress(Codec.GZIP, packed, magic=0, max_bytes=4) == b"text"


@pytest.mark.parametrize("codec", [0, 5, 6, 7, -1])
def test_unknown_codecs_are_refused(codec: int) -> None:
    """The implementation in Python has the reason."""
    core = import_module("zkconsumer.native._core")
    assert core.decompress(codec, b"text", magic=2, max_bytes=4) is None


def test_the_linked_libraries_are_reported() -> None:
    """Missing libraries are reported with their consequence."""
    core = import_module("zkconsumer.native._core")
    assert list(core.LIBRARIES) == ["zlib", "lz4", "zstd"]
    assert all(core.LIBRARIES.values())
    reported = engine._how("pclmul", {"zlib": "1.3", "lz4": "1.10.0", "zstd": "1.5.7"})
    assert reported == "CRC-32 by pclmul; zlib 1.3, lz4 1.10.0, zstd 1.5.7"
    reported = engine._how("pclmul", {"zlib": "1.3", "lz4": None, "zstd": None})
    assert reported == "CRC-32 by pclmul; zlib 1.3; built without lz4, zstd: Python decompresses"
    reported = engine._how("pclmul", {"zlib": None})
    assert reported == "CRC-32 by pclmul; built without zlib: Python decompresses"
