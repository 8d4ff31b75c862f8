"""Compute orders that come from the JVM: Java's string hash, the iteration of Scala's hash maps.

Round-robin sorts partitions by a 32-bit hash. Where two hashes are equal, the order in which the
original iterates over its maps decides, so it is computed too. It holds for the builds with Scala
2.10 and 2.11; those with Scala 2.9 mix hashes differently.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

_INT_MASK = 0xFFFFFFFF
_SIGN = 0x80000000
_SMALL_MAP_SIZE = 4
_TRIE_BITS = 5
_FIRST_TABLE_BITS = 4
_LOAD_PER_MILLE = 750

K = TypeVar("K")


def string_hash(text: str) -> int:
    """Return ``java.lang.String.hashCode``: signed, 32 bits, over UTF-16 code units."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
    value = 0
    for unit in units:
        value = (31 * value + unit) & _INT_MASK
    return value - 2**32 if value & _SIGN else value


def immutable_map_order(keys: Iterable[str]) -> list[str]:
    """Return the iteration order of an immutable Scala map with ``keys`` inserted in this order.

    Up to four keys keep their order. More are in a trie over their improved hash, five bits a
    level from the lowest; keys of equal hash keep their order.

    Source: Scala 2.10 ``immutable.Map4``, ``immutable.HashMap``.
    """
    distinct = list(dict.fromkeys(keys))
    if len(distinct) <= _SMALL_MAP_SIZE:
        return distinct
    return sorted(distinct, key=lambda key: _trie_path(string_hash(key)))


def mutable_map_order(keys: Iterable[str]) -> list[str]:
    """Return the iteration order of a mutable Scala hash map with ``keys`` inserted in this order.

    The table is iterated from its last bucket to its first, a bucket from its newest entry on.
    Growing moves the entries in that same order, which reverses the entries of one bucket.

    Source: Scala 2.10 ``mutable.HashTable``.
    """
    return _mutable_order(keys, string_hash)


def mutable_int_map_order(keys: Iterable[int]) -> list[int]:
    """Return that order for keys that are 32-bit integers, which are their own hashes."""
    return _mutable_order(keys, int)


def _mutable_order(keys: Iterable[K], hash_of: Callable[[K], int]) -> list[K]:
    bits = _FIRST_TABLE_BITS
    buckets: dict[int, list[K]] = {}
    distinct = list(dict.fromkeys(keys))
    for count, key in enumerate(distinct, start=1):
        buckets.setdefault(_bucket(hash_of(key), bits), []).append(key)
        if count > (1 << bits) * _LOAD_PER_MILLE // 1000:
            walked = _walk(buckets)
            bits += 1
            buckets = {}
            for moved in walked:
                buckets.setdefault(_bucket(hash_of(moved), bits), []).append(moved)
    return _walk(buckets)


def _walk(buckets: dict[int, list[K]]) -> list[K]:
    return [key for number in sorted(buckets, reverse=True) for key in reversed(buckets[number])]


def _bucket(hash_code: int, bits: int) -> int:
    """Return the upper ``bits`` of the mixed hash, rotated by the first table's bits."""
    mixed = _byteswap(hash_code & _INT_MASK)
    rotated = (mixed >> _FIRST_TABLE_BITS | mixed << (32 - _FIRST_TABLE_BITS)) & _INT_MASK
    return rotated >> (32 - bits)


def _byteswap(value: int) -> int:
    """Source: Scala 2.10 ``scala.util.hashing.byteswap32``."""
    mixed = (value * 0x9E3775CD) & _INT_MASK
    swapped = int.from_bytes(mixed.to_bytes(4, "big"), "little")
    return (swapped * 0x9E3775CD) & _INT_MASK


def _trie_path(hash_code: int) -> list[int]:
    """Return the improved hash as its five-bit steps, lowest first."""
    value = hash_code & _INT_MASK
    value = (value + ~(value << 9)) & _INT_MASK
    value ^= value >> 14
    value = (value + (value << 4)) & _INT_MASK
    value ^= value >> 10
    return [value >> shift & (1 << _TRIE_BITS) - 1 for shift in range(0, 32, _TRIE_BITS)]
