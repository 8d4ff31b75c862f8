"""A cache of recent values, bounded in number, size and age."""

from collections.abc import Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from zkconsumer.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MOST: Final = 1_000
_MOST_SIZE: Final = 16 << 20
"""The maximum total size, in the unit of ``put``; a single value is kept whatever its size."""
_AGE_MS: Final = 300_000


class _Entry(NamedTuple, Generic[V]):
    value: V
    size: int
    until_ms: int


class Recent(Generic[K, V]):
    """Caches values; evicts the oldest first. Thread: one at a time.

    Args:
        clock: measures the age of values.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[K, _Entry[V]] = {}
        self._size = 0

    def get(self, key: K) -> V | None:
        """Return a cached value; None if it is too old, was evicted, or was never put."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._clock.now_ms() >= entry.until_ms:
            self._drop(key)
            return None
        return entry.value

    def put(self, key: K, value: V, size: int, age_ms: int | None = None) -> None:
        """Cache a value; it replaces an earlier one of the same key.

        Args:
            key: the key of the value.
            value: the value.
            size: its share of ``_MOST_SIZE``.
            age_ms: its maximum age; None: that of the cache.
        """
        if key in self._entries:
            self._drop(key)
        until_ms = self._clock.now_ms() + (_AGE_MS if age_ms is None else age_ms)
        self._entries[key] = _Entry(value, size, until_ms)
        self._size += size
        while len(self._entries) > 1 and (len(self._entries) > _MOST or self._size > _MOST_SIZE):
            self._drop(next(iter(self._entries)))

    def _drop(self, key: K) -> None:
        self._size -= self._entries.pop(key).size
