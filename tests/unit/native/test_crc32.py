"""CRC-32 of the native core, by instructions and by tables, compared with zlib's."""

import random
import zlib
from importlib import import_module

import pytest

from tests.support.engines import needs_native

pytestmark = needs_native


@pytest.mark.parametrize("portable", [False, True])
def test_every_length_and_alignment(portable: bool) -> None:
    """Short lengths, those around each stride, and long ones are tried at different alignments."""
    core = import_module("zkconsumer.native._core")
    data = random.Random(1).randbytes(70_000)
    for size in (*range(300), 511, 512, 513, 1010, 65_536):
        for start in range(17 if size < 300 else 3):
            part = memoryview(data)[start : start + size]
            assert core.crc32(part, portable=portable) == zlib.crc32(part)


@pytest.mark.parametrize("portable", [False, True])
def test_a_crc_can_be_continued(portable: bool) -> None:
    """The CRC of two parts equals that of the whole, wherever it is split."""
    core = import_module("zkconsumer.native._core")
    data = random.Random(2).randbytes(400)
    for cut in range(len(data)):
        front = core.crc32(data[:cut], portable=portable)
        assert core.crc32(data[cut:], front, portable=portable) == zlib.crc32(data)
