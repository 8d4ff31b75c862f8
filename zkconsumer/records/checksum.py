"""Selects the CRC-32 of the decoder in Python; the only importer of ``isal``.

For a small message, the CRC takes half as long as everything else. If ``isal`` is installed, it and
zlib are timed once on import, which takes a tenth of a millisecond: the faster of them depends on
the size of the messages and, if they are small, on the processor. For 100 bytes ``isal`` takes a
third of zlib's time on one processor, and more than zlib's on another, which has wider vectors. The
choice affects speed only.
"""

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from time import perf_counter_ns
from typing import Final, TypeAlias

Crc32: TypeAlias = Callable[..., int]
"""``(data, start=0)``, as ``zlib.crc32``."""

LARGE_BYTES = 256
"""The size, in bytes, from which data counts as large."""

_ROUNDS, _CALLS = 8, 20


def libraries() -> dict[str, Crc32]:
    """Return the available implementations, by name."""
    found: dict[str, Crc32] = {"zlib": zlib.crc32}
    with suppress(ImportError):
        found["isal"] = import_module("isal.isal_zlib").crc32
    return found


def quickest(
    candidates: Mapping[str, Crc32], size_bytes: int, now_ns: Callable[[], int] = perf_counter_ns
) -> str:
    """Return the name of the candidate with the best time, tried in turns on data of this size."""
    data = bytes(size_bytes)
    best: dict[str, int] = {}
    for _ in range(_ROUNDS if len(candidates) > 1 else 0):
        for name, crc32 in candidates.items():
            start = now_ns()
            for _ in range(_CALLS):
                crc32(data)
            taken = now_ns() - start
            best[name] = min(taken, best.get(name, taken))
    return min(candidates, key=lambda name: best.get(name, 0))


_libraries = libraries()
_small, _large = quickest(_libraries, 100), quickest(_libraries, 1000)

NAME: Final[str] = _small if _small == _large else f"{_small} and {_large}"
"""The implementation in this process; both, if small and large data use different ones."""

crc32_small: Final[Crc32] = _libraries[_small]
"""Return the CRC-32 of bytes; a second argument continues from the CRC of the bytes before."""

crc32_large: Final[Crc32] = _libraries[_large]
"""The same, by the faster implementation for ``LARGE_BYTES`` and more."""
