"""CRC-32 in Python is the same with any library, in processes of their own."""

import os
import subprocess
import sys

import pytest

PRINT_CHECKSUM = (
    "from zkconsumer.records import checksum as c;"
    "print(c.NAME, *c.libraries(), c.crc32_small(b'123456789'), c.crc32_large(b'123456789'))"
)


def printed(before: str = "") -> str:
    """Return what a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", before + PRINT_CHECKSUM],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["isal", "isal.isal_zlib"])
def test_without_isal_zlib_computes_the_checksum(module: str) -> None:
    """The extra is optional. The number is the check value of CRC-32."""
    found = printed(f"import sys; sys.modules[{module!r}] = None; ")
    assert found == f"zlib zlib {0xCBF43926} {0xCBF43926}"
