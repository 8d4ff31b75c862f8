"""What records take in memory, and chunks cut to a size.

Counted is what CPython allocates, not what the log holds: a record of no bytes at all takes some
five times its 26 bytes in the log. Each object is rounded up as the allocator does, which makes
the count a little too large rather than too small.
"""

import sys
from collections.abc import Iterable

from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import Record


def _allocated(size_bytes: int) -> int:
    return (size_bytes + 15) & ~15


_LIST_SLOT_BYTES = 9
"""A pointer, and a share of the room that a growing list keeps ahead."""
_NUMBER_BYTES = _allocated(sys.getsizeof(2**40))
# A tuple of a subclass is allocated with one slot more than it has.
_TUPLE_BYTES = _allocated(sys.getsizeof(Record(0, None, None)) + 8)
_RECORD_BYTES = _TUPLE_BYTES + _NUMBER_BYTES + _LIST_SLOT_BYTES
_BYTES_BYTES = sys.getsizeof(b"") + 15


def records_bytes(records: Iterable[Record]) -> int:
    """The bytes of memory that these records take, with the list that holds them."""
    # Every record of every stream comes by here: names are looked up once.
    record_bytes, bytes_bytes, number_bytes = _RECORD_BYTES, _BYTES_BYTES, _NUMBER_BYTES
    total = 0
    for _, key, value, timestamp, _ in records:
        total += record_bytes
        if value:
            total += bytes_bytes + len(value)
        if key:
            total += bytes_bytes + len(key)
        if timestamp >= 0:
            total += number_bytes
    return total


def can_cut(chunk: Chunk, max_bytes: int) -> bool:
    """Whether it is larger than ``max_bytes``, and of more than one part."""
    parts = len(chunk.records) + (chunk.poison is not None)
    return parts > 1 and chunk.size_bytes > max_bytes


def cut_head(chunk: Chunk, max_bytes: int) -> Chunk:
    """Take the front out of a chunk that can be cut.

    Returns:
        A chunk of at most ``max_bytes``, but of one record at least; ``chunk`` then is what
        follows, with the poison at its end.
    """
    count, size_bytes = 0, 0
    for record in chunk.records:
        one_bytes = records_bytes((record,))
        if count and size_bytes + one_bytes > max_bytes:
            break
        count, size_bytes = count + 1, size_bytes + one_bytes
    behind = chunk.records[count - 1].offset + 1
    head = Chunk(chunk.claim, chunk.fetch_offset, behind, chunk.records[:count], size_bytes)
    chunk.fetch_offset = behind
    chunk.records = chunk.records[count:]
    chunk.size_bytes -= size_bytes
    return head
