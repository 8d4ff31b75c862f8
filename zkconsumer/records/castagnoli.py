"""Computes CRC-32C, the checksum of record batches (magic 2); the only importer of ``crc32c``.

The polynomial is Castagnoli's, not that of zlib's CRC-32, which magic 0 and 1 use. The library uses
the processor's instruction if it has one. The native core has its own CRC-32C, so the library,
which imports dozens of modules, is loaded only on first use.

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
