"""CRC-32 in Python: whichever library computes it, it is the same: in processes of their own."""

import os
import subprocess
import sys

import pytest

ASK = (
    "from zkconsumer.records import checksum as c;"
    "print(c.NAME, *c.libraries(), c.crc32_small(b'123456789'), c.crc32_large(b'123456789'))"
)


def requested(before: str = "") -> str:
    """Ask a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", before + ASK],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["isal", "isal.isal_zlib"])
def test_zlib_computes_it_where_it_is_not(module: str) -> None:
    """The extra is not needed. The number is the check value of CRC-32."""
    found = requested(f"import sys; sys.modules[{module!r}] = None; ")
    assert found == f"zlib zlib {0xCBF43926} {0xCBF43926}"
