"""Parses and validates the header of a record batch (magic 2) without reading its records.

    base offset int64 | size int32 | leader epoch int32 | magic int8 | crc uint32
    | attributes int16 | last offset delta int32 | base timestamp int64 | max timestamp int64
    | producer id int64 | producer epoch int16 | base sequence int32 | record count int32 | records

The CRC-32C covers everything from the attributes on: not the base offset and the leader epoch,
which the broker sets, nor the size and magic, which are needed to find the CRC. Attributes: codec
in bits 0-2, timestamps set by the broker in bit 3, transactional in bit 4, control in bit 5; if bit
6 is set, the base timestamp is also the tombstones' delete horizon, and deltas still count from it.

Compaction removes records and keeps the last offset delta, so reading continues *after the batch's
last offset*, which may belong to no record. A batch can be empty: it then keeps its producer's
sequence alive.

Source: Kafka 0.11 and 3.9 ``DefaultRecordBatch``; KIP-98, KIP-101, KIP-534.
"""

import struct
from typing import Final, NamedTuple

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.castagnoli import crc32c
from zkconsumer.records.entries import HEADER_BYTES, Entry, offset_after, offset_at

MAGIC = 2
BATCH_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
CHECKED_FROM = 21
"""The position in a batch from which its CRC covers it."""
MIN_BATCH_SIZE = BATCH_HEADER.size - HEADER_BYTES

CODEC_MASK = 0x07
LOG_APPEND_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

MOST_OFFSETS = 2**63 - 1
"""The limit of a record's offset: the next offset must be an int64, too."""
NO_PRODUCER_ID = -1
NO_LEADER_EPOCH = -1

_MAGIC_AT = 16


class BatchHeader(NamedTuple):
    """The fields of a batch header, in their order.

    Timestamps are in milliseconds since the epoch; ids, epochs and timestamps are -1 for none.
    """

    base_offset: int
    size: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The last offset that the batch covers, whether a record still has it or not."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The number of the codec; may be unknown."""
        return self.attributes & CODEC_MASK

    @property
    def has_append_time(self) -> bool:
        """Whether all records have the broker's append time."""
        return bool(self.attributes & LOG_APPEND_MASK)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction; true for control batches, too."""
        return bool(self.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        """Whether it holds a marker instead of user records."""
        return bool(self.attributes & CONTROL_MASK)


def sound_header(data: bytes, entry: Entry) -> BatchHeader:
    """Return the header of a whole batch, validated by its CRC and fields.

    Raises:
        CorruptRecord: the CRC does not match, or a field is invalid.
    """
    size = entry.stop - entry.position - HEADER_BYTES
    if size < MIN_BATCH_SIZE:
        raise corrupt_batch(data, entry, f"batch size {size} is less than {MIN_BATCH_SIZE}")
    header = BatchHeader._make(BATCH_HEADER.unpack_from(data, entry.position))
    found = crc32c(memoryview(data)[entry.position + CHECKED_FROM : entry.stop])
    if found != header.crc:
        raise corrupt_batch(data, entry, f"CRC-32C is {found:08x}, should be {header.crc:08x}")
    if header.last_offset_delta < 0 or header.last_offset >= MOST_OFFSETS:
        reason = f"last offset delta {header.last_offset_delta} is invalid"
        raise corrupt_batch(data, entry, reason)
    if header.record_count < 0:
        raise corrupt_batch(data, entry, f"record count {header.record_count} is negative")
    return header


def corrupt_batch(data: bytes, entry: Entry, reason: str) -> CorruptRecord:
    """Return the error of a batch whose last offset is unreliable.

    Reading can continue at the offset of the entry after it. If there is none, it can continue
    after the last offset of this batch if the record count agrees, as it does if compaction removed
    no record (a wrong delta could skip billions of records). Else the offset is unknown.
    """
    return CorruptRecord(
        reason,
        offset=entry.offset,
        position=entry.position,
        next_offset=_likely_next(data, entry),
        raw=data[entry.position : entry.stop],
    )


def _likely_next(data: bytes, entry: Entry) -> int | None:
    if len(data) - entry.stop > _MAGIC_AT:
        if data[entry.stop + _MAGIC_AT] != MAGIC:
            # A message follows, so this is a message, too: its offset is its last one.
            return offset_after(entry.offset)
        following = offset_at(memoryview(data)[entry.stop :])
        if following is not None and following > entry.offset:
            return following
    if entry.stop - entry.position < BATCH_HEADER.size:
        return None
    header = BatchHeader._make(BATCH_HEADER.unpack_from(data, entry.position))
    if 0 <= header.last_offset_delta == header.record_count - 1:
        return offset_after(header.last_offset)
    return None
