"""CRC-32 for the decoder in Python: the only door to ``isal``, which is used where it is installed.

For a small message the call costs as much as half of all the rest. Which library is quicker depends
on the size of the messages and on the processor: ``benchmarks/decode.py`` tells.
"""

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeAlias

Crc32: TypeAlias = Callable[..., int]
"""``(data, start=0)``, as ``zlib.crc32``."""


def _choose() -> tuple[str, Crc32]:
    try:
        found: Crc32 = import_module("isal.isal_zlib").crc32
    except ImportError:
        return "zlib", zlib.crc32
    return "isal", found


_choice = _choose()

NAME: Final[str] = _choice[0]
"""The library that computes it in this process."""

crc32: Final[Crc32] = _choice[1]
"""The CRC-32 of some bytes; with a second argument, going on from that of the bytes before them."""
