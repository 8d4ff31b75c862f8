"""CRC-32C, the checksum of batches of magic 2: the only door to ``crc32c``.

The polynomial is Castagnoli's, not that of zlib's CRC-32 in magic 0 and 1. Where the processor has
an instruction for it, the library uses it. The native core has one of its own, so the library,
which brings dozens of modules along, is loaded when it is first asked.

Source: Kafka 0.11 ``Crc32C``; RFC 3720, B.4.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of some bytes."""
    return _library()(data)


@cache
def _library() -> Callable[[bytes | memoryview], int]:
    found: Callable[[bytes | memoryview], int] = import_module("crc32c").crc32c
    return found
