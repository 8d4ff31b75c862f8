"""Estimates the memory of records.

This counts what CPython allocates, not the size in the log: an empty record takes some five times
its 26 bytes in the log. Each object is rounded up as the allocator does, so the estimate is
slightly high rather than low.
"""

import sys
from collections.abc import Iterable

from zkconsumer.model import Record
from zkconsumer.records.rows import Headers, Row, Rows


def _allocated(size_bytes: int) -> int:
    return (size_bytes + 15) & ~15


_LIST_SLOT_BYTES = 9
"""A pointer, and a share of the spare capacity of a growing list."""
_NUMBER_BYTES = _allocated(sys.getsizeof(2**40))
# A tuple of a subclass is allocated with one slot too many.
_TUPLE_BYTES = _allocated(sys.getsizeof(Record(0, None, None)) + 8)
_RECORD_BYTES = _TUPLE_BYTES + _NUMBER_BYTES + _LIST_SLOT_BYTES
_BYTES_BYTES = sys.getsizeof(b"") + 15

VALUE_ONLY_BYTES = _RECORD_BYTES + _BYTES_BYTES
"""The memory of a record besides its value, if it has no key and no timestamp."""
KEY_AND_VALUE_BYTES = VALUE_ONLY_BYTES + _BYTES_BYTES
"""The memory of a record besides key and value, if neither is empty and it has no timestamp."""

_MOST_CHARACTER_BYTES = 4
_HEADER_BYTES = _allocated(sys.getsizeof((0, 0)) + 8) + _allocated(sys.getsizeof("\U0001f980"))
_HEADERS_BYTES = _allocated(sys.getsizeof((0,))) + 128
"""A tuple, and an entry of a dictionary that grows by doubling."""


def records_bytes(records: Iterable[Row]) -> int:
    """Return the memory of these records once they are made, with the list that holds them."""
    # Counts every record that the fast paths did not read, so globals are looked up only once.
    record_bytes, bytes_bytes, number_bytes = _RECORD_BYTES, _BYTES_BYTES, _NUMBER_BYTES
    total = 0
    for _, key, value, timestamp, _ in records.plain if isinstance(records, Rows) else records:
        total += record_bytes
        if value:
            total += bytes_bytes + len(value)
        if key:
            total += bytes_bytes + len(key)
        if timestamp >= 0:
            total += number_bytes
    return total


def headers_bytes(headers: Headers) -> int:
    """Return the memory of one record's headers, and of their entry beside the rows."""
    total = _HEADERS_BYTES
    for key, value in headers:
        total += _HEADER_BYTES + len(key) * _MOST_CHARACTER_BYTES
        if value:
            total += _BYTES_BYTES + len(value)
    return total
