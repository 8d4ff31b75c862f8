"""A fast path for messages of magic 0 that have a key and a value.

It does what ``legacy`` does for all messages, with fewer cases. Anything else, valid or not, is
left to ``legacy``, the reference.
"""

import struct

from zkconsumer.records.checksum import crc32_small
from zkconsumer.records.entries import HEADER_BYTES, MIN_ENTRY_SIZE, Gathered
from zkconsumer.records.memory import KEY_AND_VALUE_BYTES

_ENTRY = struct.Struct(">qiIhi")  # offset, size, crc, magic and attributes, key length
_INT32 = struct.Struct(">i")
_OVERHEAD_BYTES = HEADER_BYTES + MIN_ENTRY_SIZE


def read_keyed(data: bytes, position: int, gathered: Gathered) -> int:
    """Read keyed messages as long as their offsets ascend from the fetch offset on.

    Returns:
        The position of the first entry that is anything else.
    """
    start, end, rows = position, len(data), gathered.rows
    append, count = rows.append, len(rows)
    entry, int32 = _ENTRY.unpack_from, _INT32.unpack_from
    last = max(gathered.fetch_offset, 0) - 1
    while end - position > _OVERHEAD_BYTES:
        offset, size, crc, is_other, key_size = entry(data, position)
        stop = position + HEADER_BYTES + size
        value_at = position + _OVERHEAD_BYTES + key_size
        if (
            is_other
            or offset <= last
            or key_size <= 0
            or not value_at < stop <= end
            or crc32_small(data[position + 16 : stop]) != crc
            or int32(data, value_at - 4)[0] != stop - value_at
        ):
            break
        append((offset, data[position + 22 : value_at - 4], data[value_at:stop], -1, -1))
        last = offset
        position = stop
    count = len(rows) - count
    if count:
        gathered.memory_bytes += position - start + count * (KEY_AND_VALUE_BYTES - _OVERHEAD_BYTES)
        gathered.advance(last)
    return position
