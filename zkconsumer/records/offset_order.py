"""Detects corrupt offsets in a fetched set: no checksum covers them.

Three things are known of the offsets in a response without trusting any of them: they ascend, none
is below the fetch offset, and none at or above the high watermark, up to which brokers return
records. (A compressed set or a batch may *begin* below.) If an entry violates that, the response is
truncated before it: a bit may have been flipped in transit, and then another fetch returns the
right one. The caller decides when to conclude that the entry is corrupt.

If two entries contradict each other, the response is truncated before the first. If both are
received again, the faulty entry is the one that the entry after both contradicts, too.

- Current brokers note the high watermark, then read the log up to its current end. So a valid
  response may extend beyond it (one in thousands with 3.9), but the next response, which begins
  there, will not. Brokers of 0.8 note the high watermark last.
- Current brokers return a compressed set whose end was compacted away as a set that ends below the
  fetch offset. So a first entry below the fetch offset is rejected once; if it is received again,
  it is ignored.
- A broker finds the fetch offset by the same corrupt headers. So an entry that is known to precede
  it is ignored if it comes first, whatever its offset.

Source: Kafka 0.8.2.2 ``LogSegment.translateOffset``, ``KafkaApis.readMessageSet``; 3.9
``Partition.readRecords``, ``RecordsUtil.downConvert``.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.batch_header import (
    CHECKED_FROM,
    MAGIC,
    MIN_BATCH_SIZE,
    MOST_OFFSETS,
)
from zkconsumer.records.castagnoli import crc32c
from zkconsumer.records.checksum import crc32_large
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.entries import HEADER_BYTES, MIN_ENTRY_SIZE
from zkconsumer.records.legacy import CODEC_MASK

_HEADER: Final = struct.Struct(">qi")
_INT32: Final = struct.Struct(">i")
_CRC: Final = struct.Struct(">I")
_MAGIC_AT: Final = 16
_LAST_DELTA_AT: Final = 23
_CRC_AT: Final = {0: 12, 1: 12, MAGIC: 17}
_FRONT: Final = struct.Struct(">qi4xB")
_SMALLEST: Final = HEADER_BYTES + MIN_ENTRY_SIZE
_LARGEST_ALIKE: Final = 1 << 16
_WITNESSES: Final = 2


class BeyondEnd(CorruptRecord):
    """An entry at or above the high watermark: not a fault on a busy log, if seen only once."""


class SetPosition(NamedTuple):
    """A position in a set, before an entry.

    Attributes:
        position: the position in bytes.
        low: the smallest valid offset from here on.
        is_first: whether no entry that counts precedes it.
    """

    position: int
    low: int
    is_first: bool


OrderFinder = Callable[[memoryview, SetPosition, int], SetPosition | None]
"""The type of ``find_descent``, of either engine."""


class TrustedRange(NamedTuple):
    """The readable part of a set: the bytes from ``start`` to ``stop``, which are whole entries.

    Attributes:
        start: the position of the first entry that is not ignored.
        stop: the position of the first invalid entry; the end of the set if all are valid.
        error: the error of that entry, at position ``stop``; None if all are valid.
    """

    start: int
    stop: int
    error: CorruptRecord | None


class _Entry(NamedTuple):
    """The header of an entry that may be incomplete."""

    position: int
    stop: int
    first: int
    last: int
    magic: int
    is_whole: bool


def find_descent(data: memoryview, entry_position: SetPosition, end: int) -> SetPosition | None:
    """Find the first entry whose offset does not fit: it descends, or is not below ``end``.

    The search ends without an error at an incomplete entry, and at bytes that no reader would take
    for an entry.

    Returns:
        None if all entries fit. Else the position of the entry before the first that does not fit,
        since either may be wrong; or of the latter itself, if no entry precedes it or its offset is
        at or above ``end``.
    """
    before, (position, low, is_first) = _pass_messages(data, entry_position, entry_position, end)
    size, header = len(data), _HEADER.unpack_from
    while size - position >= HEADER_BYTES:
        first, entry_size = header(data, position)
        if entry_size < MIN_ENTRY_SIZE or first < 0:
            return None
        stop = position + HEADER_BYTES + entry_size
        last = first
        if stop <= size and data[position + _MAGIC_AT] > 1:
            found = _last_of_batch(data, position, stop, first)
            if found is None:
                return None
            last = found
        if (last if is_first else first) < low and not (is_first and stop > size):
            return before
        if stop > size:
            return None
        if last >= end:
            return SetPosition(position, low, is_first)
        here, after = (
            SetPosition(position, low, is_first),
            SetPosition(stop, last + 1, is_first=False),
        )
        before, (position, low, is_first) = _pass_messages(data, here, after, end)
    return None


def _pass_messages(
    data: memoryview, before: SetPosition, entry_position: SetPosition, end: int
) -> tuple[SetPosition, SetPosition]:
    """Skip messages of magic 0 and 1 that fit: a fast path only.

    Returns:
        The position of the last of them (``before`` if there are none), and the one after it.
    """
    position, low, is_first = entry_position
    at, floor = before.position, before.low
    if (count := _count_alike(data, entry_position, end)) > 1:
        stride = HEADER_BYTES + _HEADER.unpack_from(data, position)[1]
        # The last of them is left to the loop below, which records its position.
        position += (count - 1) * stride
        low = _HEADER.unpack_from(data, position - stride)[0] + 1
    size, front = len(data) - _SMALLEST, _FRONT.unpack_from
    while position <= size:
        first, entry_size, magic = front(data, position)
        stop = position + HEADER_BYTES + entry_size
        if not low <= first < end or magic > 1 or entry_size < MIN_ENTRY_SIZE or stop > len(data):
            break
        at, floor, position, low = position, low, stop, first + 1
    if position == entry_position.position:
        return before, entry_position
    return SetPosition(at, floor, is_first and at == entry_position.position), SetPosition(
        position, low, is_first=False
    )


def _count_alike(data: memoryview, entry_position: SetPosition, end: int) -> int:
    """Return the number of messages of the same size from here on that fit."""
    position, low, _ = entry_position
    if len(data) - position < _SMALLEST:
        return 0
    entry_size = _HEADER.unpack_from(data, position)[1]
    if not MIN_ENTRY_SIZE <= entry_size <= _LARGEST_ALIKE:
        return 0
    stride = HEADER_BYTES + entry_size
    stop = position + (len(data) - position) // stride * stride
    count = 0
    entries = struct.iter_unpack(f">qi4xB{stride - _FRONT.size}x", data[position:stop])
    for first, size, magic in entries:
        if size != entry_size or magic > 1 or not low <= first < end:
            break
        low = first + 1
        count += 1
    return count


def part_from(data: memoryview, offset: int) -> memoryview:
    """Return a set without the whole entries that end before an offset; its offsets must ascend."""
    position = 0
    while (entry := _entry_at(data, position)) is not None:
        if not entry.is_whole or entry.last >= offset:
            break
        position = entry.stop
    return data[position:]


def trusted_range(
    data: memoryview,
    *,
    fetch_offset: int,
    high_watermark: int,
    is_again: bool,
    max_decompressed_bytes: int,
    find: OrderFinder,
) -> TrustedRange:
    """Validate the offsets of a set.

    Entries with a wrong checksum are left to their reader; their offsets are not considered.

    Args:
        data: the whole set as received.
        fetch_offset: the requested offset.
        high_watermark: that of the same response, or of a later one.
        is_again: whether a response to the same request was rejected before this one.
        max_decompressed_bytes: the limit when decompressing to find where a set begins.
        find: the engine's ``find_descent``.
    """
    start = through = 0  # the ends of the ignored entries, and of those that may be ignored
    entry_position = SetPosition(0, fetch_offset, is_first=True)
    while (suspect := find(data, entry_position, high_watermark)) is not None:
        entry = _entry_at(data, suspect.position)
        if entry is None or not entry.is_whole:
            break
        after = SetPosition(entry.stop, max(suspect.low, entry.last + 1), is_first=False)
        if not _is_sound(data, entry):
            after = SetPosition(entry.stop, suspect.low, suspect.is_first)
        elif reason := _fault(
            data, entry, suspect, high_watermark, is_again=is_again and entry.position == through
        ):
            next_offset = _first_offset_after(data, entry, high_watermark, max_decompressed_bytes)
            is_below, is_in_front = entry.last < suspect.low, entry.position == through
            is_after_fetch = next_offset is None or next_offset > fetch_offset
            if is_in_front and (is_again or is_below) and not is_after_fetch:
                start = through = entry.stop
                after = SetPosition(entry.stop, suspect.low, is_first=True)
            elif is_in_front and is_again and is_below:
                through = entry.stop
                after = SetPosition(entry.stop, suspect.low, is_first=True)
            else:
                kind = BeyondEnd if entry.last >= high_watermark else CorruptRecord
                error = kind(
                    reason,
                    offset=entry.first,
                    position=entry.position,
                    next_offset=next_offset,
                    raw=bytes(data[entry.position : entry.stop]),
                )
                return TrustedRange(start, entry.position, error)
        entry_position = after
    return TrustedRange(len(data) if through == len(data) else start, len(data), None)


def _fault(
    data: memoryview,
    entry: _Entry,
    entry_position: SetPosition,
    high_watermark: int,
    *,
    is_again: bool,
) -> str:
    """Return the error of a valid entry's offset; "" if another entry is at fault."""
    claim = f"the entry claims offset {entry.first}"
    if entry.last != entry.first:
        claim = f"the entry claims the offsets {entry.first} to {entry.last}"
    if entry.last >= high_watermark:
        return f"{claim}, but the log ends at {high_watermark} (the high watermark)"
    if (entry.last if entry_position.is_first else entry.first) < entry_position.low:
        return f"{claim}, but does not follow offset {entry_position.low - 1}"
    witnesses = list(_valid_entries_after(data, entry))
    if not witnesses or witnesses[0].first > entry.last:
        return ""
    if not is_again:
        is_at_fault = True
    elif len(witnesses) == _WITNESSES:
        is_at_fault = witnesses[0].first < witnesses[1].first <= entry.last
    else:
        is_at_fault = entry.first != entry_position.low
    return f"{claim}, but is followed by offset {witnesses[0].first}" if is_at_fault else ""


def _valid_entries_after(data: memoryview, entry: _Entry) -> Iterator[_Entry]:
    """Yield the next entries with a valid checksum, at most two; the last may be incomplete."""
    found, count = _entry_at(data, entry.stop), 0
    while found is not None and count < _WITNESSES:
        if not found.is_whole or _is_sound(data, found):
            yield found
            count += 1
        found = _entry_at(data, found.stop) if found.is_whole else None


def _first_offset_after(
    data: memoryview, entry: _Entry, high_watermark: int, max_decompressed_bytes: int
) -> int | None:
    """Return the first offset of the next valid entry, or None; nothing readable precedes it."""
    for found in _valid_entries_after(data, entry):
        if not found.is_whole or found.last >= high_watermark:
            continue
        is_plain = not data[found.position + _MAGIC_AT + 1] & CODEC_MASK
        if found.magic == MAGIC or is_plain:
            return found.first
        inside = decode_record_set(
            data[found.position : found.stop],
            fetch_offset=0,
            max_decompressed_bytes=max_decompressed_bytes,
        )
        return inside.records[0].offset if inside.records else None
    return None


def _entry_at(data: memoryview, position: int) -> _Entry | None:
    """Return the header of an entry; None if no reader would take the bytes for one."""
    if len(data) - position < HEADER_BYTES:
        return None
    first, size = _HEADER.unpack_from(data, position)
    if size < MIN_ENTRY_SIZE or first < 0:
        return None
    stop = position + HEADER_BYTES + size
    if stop > len(data):
        return _Entry(position, stop, first, first, -1, is_whole=False)
    magic = data[position + _MAGIC_AT]
    last = first if magic < MAGIC else _last_of_batch(data, position, stop, first)
    return None if last is None else _Entry(position, stop, first, last, magic, is_whole=True)


def _last_of_batch(data: memoryview, position: int, stop: int, base_offset: int) -> int | None:
    """Return the last offset of a whole batch; None if it is not a batch."""
    too_small = stop - position < MIN_BATCH_SIZE + HEADER_BYTES
    if data[position + _MAGIC_AT] != MAGIC or too_small:
        return None
    delta: int = _INT32.unpack_from(data, position + _LAST_DELTA_AT)[0]
    return base_offset + delta if 0 <= delta <= MOST_OFFSETS - base_offset else None


def _is_sound(data: memoryview, entry: _Entry) -> bool:
    """Return whether the checksum of a whole entry matches."""
    wanted: int = _CRC.unpack_from(data, entry.position + _CRC_AT[entry.magic])[0]
    if entry.magic == MAGIC:
        return crc32c(data[entry.position + CHECKED_FROM : entry.stop]) == wanted
    return crc32_large(data[entry.position + _MAGIC_AT : entry.stop]) == wanted
