"""The order in which a JVM walks a set of texts: that in which a ZooKeeper server lists children.

It holds for Java 8 and later, with up to seven texts in a bucket. Before, those of a bucket came
the other way round, and turned around with each growth of the table.

Source: OpenJDK ``java.util.HashMap``, ZooKeeper 3.4.6 ``DataNode`` (a ``HashSet`` made for 8).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from zkconsumer.assignment.java_order import string_hash

_FIRST_SIZE: Final = 8


class JavaHashSet:
    """A set of texts; its table grows with them, and never shrinks."""

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}
        self._size = _FIRST_SIZE

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[str]:
        mask = self._size - 1
        return iter(sorted(self._hashes, key=lambda text: self._hashes[text] & mask))

    def add(self, text: str) -> None:
        """Put a text in, behind those of its bucket."""
        if text in self._hashes:
            return
        self._hashes[text] = _spread(text)
        if len(self._hashes) * 4 > self._size * 3:
            self._size *= 2

    def discard(self, text: str) -> None:
        """Take a text out, if it is in."""
        self._hashes.pop(text, None)


@lru_cache(maxsize=1_000)
def _spread(text: str) -> int:
    code = string_hash(text) & 0xFFFFFFFF
    return code ^ code >> 16
