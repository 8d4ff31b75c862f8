"""CRC-32C, the checksum of batches of magic 2: the only door to ``crc32c``.

The polynomial is Castagnoli's, not that of zlib's CRC-32 in magic 0 and 1. Where the processor has
an instruction for it, the library uses it.

Source: Kafka 0.11 ``Crc32C``; RFC 3720, B.4.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Final

crc32c: Final[Callable[[bytes | memoryview], int]] = import_module("crc32c").crc32c
"""The CRC-32C of some bytes."""
