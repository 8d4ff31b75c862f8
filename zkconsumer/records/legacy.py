"""Reads messages of magic 0 and 1: uncompressed ones, and wrappers of compressed message sets.

    magic 0: crc uint32 | magic int8 | attributes int8 | key | value
    magic 1: crc uint32 | magic int8 | attributes int8 | timestamp int64 | key | value

A key or value is an int32 length (-1 = null) and that many bytes; the CRC-32 covers everything
after itself. Attributes: codec in bits 0-2; in magic 1, bit 3 is set if the broker set the
timestamp.

A wrapper has the offset of the last message in it. Inside, offsets are absolute in magic 0; in
magic 1 they are relative to the set's start, which follows from the last message. A set resumed in
its middle is decompressed as a whole, and messages below the fetch offset are skipped unread.

Reading is split. ``_read_plain`` reads valid, uncompressed messages and stops at anything else;
``unkeyed`` and ``keyed`` are fast paths for the most common of them. ``_read_other`` then reads or
rejects that entry.

Source: Kafka 0.8.2.2 ``Message``, ``ByteBufferMessageSet``; KIP-31, KIP-32; Kafka 2.0
``AbstractLegacyRecordBatch``.
"""

import struct

from zkconsumer.errors import CorruptRecord, UnsupportedCodec
from zkconsumer.model import TimestampType
from zkconsumer.records.bounded import OverBound
from zkconsumer.records.checksum import crc32_large, crc32_small
from zkconsumer.records.codecs import Codec, decompress
from zkconsumer.records.entries import (
    HEADER_BYTES,
    MIN_ENTRY_SIZE,
    Entry,
    Gathered,
    entry_at,
    offset_after,
    unplaced,
)
from zkconsumer.records.keyed import read_keyed
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.unkeyed import read_unkeyed

CODEC_MASK = 0x07
LOG_APPEND_MASK = 0x08
MAX_DEPTH = 4
"""The maximum nesting of sets. The original's producers nest once; later brokers refuse more."""

MAGICS = (0, 1)

_WRAPPING = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
_SMALLEST = HEADER_BYTES + MIN_ENTRY_SIZE
_HEADER = struct.Struct(">qi")
_ENTRY = struct.Struct(">qiIbbi")  # offset, size, crc, magic, attributes, and (magic 0) key length
_STAMP_AND_KEY_SIZE = struct.Struct(">qi")
_INT32 = struct.Struct(">i")
_CRC = struct.Struct(">I")
_NO_TYPE, _APPEND_TIME = int(TimestampType.NONE), int(TimestampType.LOG_APPEND_TIME)


def read_messages(
    data: bytes, position: int, gathered: Gathered, *, base_offset: int = 0, depth: int = 0
) -> int:
    """Read complete messages up to the first entry that is incomplete or of another format.

    Args:
        data: the message set.
        position: the position of the first entry to read.
        gathered: receives the rows.
        base_offset: added to the offsets in the data.
        depth: the number of enclosing wrappers.

    Returns:
        The position after the last message read.

    Raises:
        CorruptRecord: at the first corrupt entry; the rows before it are gathered.
    """
    while True:
        if not base_offset:
            position = read_unkeyed(data, position, gathered)
            position = read_keyed(data, position, gathered)
        position = _read_plain(data, position, base_offset, gathered)
        entry = entry_at(data, position, base_offset)
        if entry is None or (entry.magic not in MAGICS and not depth):
            break
        if entry.offset >= gathered.fetch_offset:
            if entry.magic not in MAGICS:
                # The wrapper's CRC matched, so the sizes inside are right: reading can go on.
                raise entry.corrupt(data, f"magic {entry.magic} inside a compressed set")
            if not _read_other(data, entry, gathered, depth):
                break
            gathered.advance(entry.offset)
        position = entry.stop
    return position


def _read_plain(data: bytes, position: int, base_offset: int, gathered: Gathered) -> int:
    """Read valid uncompressed messages and return the position of the first other entry."""
    end, floor, last = len(data), gathered.fetch_offset, -1
    rows = gathered.rows
    append, first = rows.append, len(rows)
    entry, int32 = _ENTRY.unpack_from, _INT32.unpack_from
    while end - position >= _SMALLEST:
        offset, size, crc, magic, attributes, key_size = entry(data, position)
        stop = position + HEADER_BYTES + size
        if (
            magic >> 1  # neither 0 nor 1
            or attributes & CODEC_MASK
            or size < 14 + 8 * magic
            or stop > end
            or offset < 0
            or crc32_small(data[position + 16 : stop]) != crc
        ):
            break
        if magic:
            timestamp, key_size = _STAMP_AND_KEY_SIZE.unpack_from(data, position + 18)
            timestamp_type = attributes >> 3 & 1
            value_at = key_at = position + 30
        else:
            timestamp, timestamp_type = -1, _NO_TYPE
            value_at = key_at = position + 22
        key = None
        if key_size >= 0:
            value_at += key_size
            key = data[key_at:value_at]
        value_at += 4
        if key_size < -1 or value_at > stop:
            break
        (value_size,) = int32(data, value_at - 4)
        value: bytes | None = data[value_at:stop]
        if value_size != stop - value_at:
            if value_size != -1 or value:
                break
            value = None
        offset += base_offset
        if offset >= floor:
            append((offset, key, value, timestamp, timestamp_type))
        if offset > last:  # noqa: PLR1730 - max() costs a tenth of the whole loop
            last = offset
        position = stop
    gathered.memory_bytes += records_bytes(rows[first:])
    gathered.advance(last)
    return position


def _read_other(data: bytes, entry: Entry, gathered: Gathered, depth: int) -> bool:
    """Read a wrapper, or raise an entry's error; return False if it must wait for capacity."""
    body_at = entry.position + 16
    (crc,) = _CRC.unpack_from(data, entry.position + HEADER_BYTES)
    found = crc32_large(data[body_at : entry.stop])
    if found != crc:
        raise entry.corrupt(data, f"CRC is {found:08x}, should be {crc:08x}")
    value = _value(data, entry)
    codec = data[body_at + 1] & CODEC_MASK
    if codec not in _WRAPPING:  # never 0: the fast path read it, or _value rejected it
        reason = f"unknown codec {codec} in magic {entry.magic}"
        raise entry.corrupt(data, reason, UnsupportedCodec)
    if value is None:
        raise entry.corrupt(data, "compressed message set without a value")
    if depth == MAX_DEPTH:
        raise entry.corrupt(data, f"message sets nested deeper than {MAX_DEPTH}")
    if not value:
        return True
    if depth == 0 and gathered.has_enough:
        gathered.is_full = True
        return False
    is_untouched = gathered.remaining_bytes == gathered.bound_bytes
    count, next_offset = len(gathered.rows), gathered.next_offset
    memory_bytes = gathered.memory_bytes
    try:
        _read_wrapped(value, Codec(codec), entry, gathered, depth)
    except CorruptRecord as error:
        if isinstance(error, OverBound) and depth == 0 and not is_untouched:
            # The wrappers before it used up the capacity: the next fetch starts at this one.
            del gathered.rows[count:]
            gathered.memory_bytes = memory_bytes
            gathered.next_offset = next_offset
            gathered.is_full = True
            return False
        what = f"compressed set up to offset {entry.offset}"
        raise entry.placed(error, data, what, offset_after(entry.offset)) from error
    finally:
        _take_append_time(data, entry, gathered, count)
    return True


def _value(data: bytes, entry: Entry) -> bytes | None:
    """Return a message's value, skipping its key."""
    key_size_at = entry.position + 18 + 8 * entry.magic
    if entry.stop - key_size_at >= 8:
        (key_size,) = _INT32.unpack_from(data, key_size_at)
        value_at = key_size_at + 8 + max(key_size, 0)
        if key_size >= -1 and value_at <= entry.stop:
            (value_size,) = _INT32.unpack_from(data, value_at - 4)
            if value_size == entry.stop - value_at:
                return data[value_at : entry.stop]
            if value_size == -1 and value_at == entry.stop:
                return None
    raise entry.corrupt(data, "lengths of key and value contradict the entry's size")


def _read_wrapped(
    value: bytes, codec: Codec, wrapper: Entry, gathered: Gathered, depth: int
) -> None:
    """Read the messages inside a wrapper; errors of the whole wrapper have no position yet."""
    data = decompress(codec, value, magic=wrapper.magic, max_bytes=gathered.remaining_bytes)
    gathered.remaining_bytes -= len(data)
    base_offset = _base_offset(data, wrapper) if wrapper.magic else 0
    _check_start(data, base_offset, gathered)
    stop = read_messages(data, 0, gathered, base_offset=base_offset, depth=depth + 1)
    if stop != len(data):
        raise unplaced(f"no whole message begins at byte {stop} of the {len(data)} inside")


def _base_offset(data: bytes, wrapper: Entry) -> int:
    """Return the base of the relative offsets inside a wrapper of magic 1."""
    position = last = 0
    while len(data) - position >= HEADER_BYTES:
        offset, size = _HEADER.unpack_from(data, position)
        if size < MIN_ENTRY_SIZE or offset < last:
            raise unplaced(f"bad offset or size at byte {position} inside")
        last = offset
        position += HEADER_BYTES + size
    if wrapper.offset == 0:  # as some versions of librdkafka wrote it
        return 0
    if last > wrapper.offset:
        raise unplaced(f"relative offset {last} inside is past the wrapper's own")
    return wrapper.offset - last


def _check_start(data: bytes, base_offset: int, gathered: Gathered) -> None:
    """Check that a set begins after the entry before it: no checksum covers its offset."""
    if len(data) < HEADER_BYTES or gathered.next_offset == gathered.fetch_offset:
        return  # nothing precedes it, and a resumed set may begin below the fetch offset
    first = base_offset + _HEADER.unpack_from(data)[0]
    if first < gathered.next_offset:
        reason = f"offset {first} inside does not follow offset {gathered.next_offset - 1}"
        raise unplaced(reason)


def _take_append_time(data: bytes, wrapper: Entry, gathered: Gathered, start: int) -> None:
    """Set the wrapper's append time on the records from ``start`` on."""
    if not wrapper.magic or not data[wrapper.position + 17] & LOG_APPEND_MASK:
        return
    timestamp, _ = _STAMP_AND_KEY_SIZE.unpack_from(data, wrapper.position + 18)
    found = gathered.rows[start:]
    stamped = [row if row[4] == _NO_TYPE else (*row[:3], timestamp, _APPEND_TIME) for row in found]
    gathered.rows[start:] = stamped
    gathered.memory_bytes += records_bytes(stamped) - records_bytes(found)
