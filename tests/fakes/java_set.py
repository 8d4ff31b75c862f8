"""The iteration order of a Java HashSet of strings: a ZooKeeper server lists children in it.

Valid for Java 8 and later, with up to seven strings in a bucket. Before Java 8 a bucket's strings
came newest first, and were reversed each time the table grew.

Source: OpenJDK ``java.util.HashMap``, ZooKeeper 3.4.6 ``DataNode`` (``new HashSet(8)``).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from zkconsumer.assignment.java_order import string_hash

_FIRST_SIZE: Final = 8


class JavaHashSet:
    """A set of strings; its table grows as strings are added, and never shrinks."""

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}
        self._size = _FIRST_SIZE

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[str]:
        mask = self._size - 1
        return iter(sorted(self._hashes, key=lambda text: self._hashes[text] & mask))

    def add(self, text: str) -> None:
        """Add a string at the end of its bucket."""
        if text in self._hashes:
            return
        self._hashes[text] = _spread(text)
        if len(self._hashes) * 4 > self._size * 3:
            self._size *= 2

    def discard(self, text: str) -> None:
        """Remove a string if it is in the set."""
        self._hashes.pop(text, None)


@lru_cache(maxsize=1_000)
def _spread(text: str) -> int:
    code = string_hash(text) & 0xFFFFFFFF
    return code ^ code >> 16
