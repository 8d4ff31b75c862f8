"""The head of a record batch (magic 2), read and judged without a look at its records.

    base offset int64 | size int32 | leader epoch int32 | magic int8 | crc uint32
    | attributes int16 | last offset delta int32 | base timestamp int64 | max timestamp int64
    | producer id int64 | producer epoch int16 | base sequence int32 | record count int32 | records

The CRC-32C covers all from the attributes on: not the base offset and the leader epoch, which the
broker sets, nor size and magic, without which there would be no CRC to look at. Attributes: codec
in bits 0-2, timestamps set by the broker in bit 3, transactional in bit 4, control in bit 5; with
bit 6 the base timestamp is also when a tombstone's time to live ends, and deltas count from it all
the same.

Compaction takes records out and leaves the last offset delta as it was, so a batch goes on to be
read *behind its last offset*, which may belong to no record. It can be empty altogether: the batch
then keeps its producer's sequence alive.

Source: Kafka 0.11 and 3.9 ``DefaultRecordBatch``; KIP-98, KIP-101, KIP-534.
"""

import struct
from typing import Final, NamedTuple

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.castagnoli import crc32c
from zkconsumer.records.entries import HEADER_BYTES, Entry, offset_at, offset_behind

MAGIC = 2
BATCH_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
CHECKED_FROM = 21
"""Where in a batch the bytes begin that its CRC covers."""
MIN_BATCH_SIZE = BATCH_HEADER.size - HEADER_BYTES

CODEC_MASK = 0x07
LOG_APPEND_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

MOST_OFFSETS = 2**63 - 1
"""The largest offset of a record: the one behind it has to be an int64, too."""
NO_PRODUCER_ID = -1
NO_LEADER_EPOCH = -1

_MAGIC_AT = 16


class BatchHeader(NamedTuple):
    """The fields of a batch, in the order in which they lie there.

    Timestamps are in milliseconds since the epoch, -1 for none; ids and epochs are -1 for none.
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
        """The last offset that the batch stands for, whether a record still has it or not."""
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        """The number of the codec; perhaps of none that is known."""
        return self.attributes & CODEC_MASK

    @property
    def has_append_time(self) -> bool:
        """Whether all records have the time at which the broker appended them."""
        return bool(self.attributes & LOG_APPEND_MASK)

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction, as a marker of its end does too."""
        return bool(self.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        """Whether it holds no records of a user's, but a marker for clients or brokers."""
        return bool(self.attributes & CONTROL_MASK)


def sound_header(data: bytes, entry: Entry) -> BatchHeader:
    """Read the head of a whole batch, judged by the CRC and by what it says of itself.

    Raises:
        CorruptRecord: the batch is not as it was written, or is invalid.
    """
    size = entry.stop - entry.position - HEADER_BYTES
    if size < MIN_BATCH_SIZE:
        raise corrupt_batch(data, entry, f"batch size {size} is less than {MIN_BATCH_SIZE}")
    header = BatchHeader._make(BATCH_HEADER.unpack_from(data, entry.position))
    found = crc32c(memoryview(data)[entry.position + CHECKED_FROM : entry.stop])
    if found != header.crc:
        raise corrupt_batch(data, entry, f"CRC-32C is {found:08x}, should be {header.crc:08x}")
    if header.last_offset_delta < 0 or header.last_offset >= MOST_OFFSETS:
        reason = f"last offset delta {header.last_offset_delta} makes no sense"
        raise corrupt_batch(data, entry, reason)
    if header.record_count < 0:
        raise corrupt_batch(data, entry, f"record count {header.record_count} is negative")
    return header


def corrupt_batch(data: bytes, entry: Entry, reason: str) -> CorruptRecord:
    """Make the error about a batch whose last offset can't be relied on.

    Where reading could go on is then where the entry behind it begins. Without one there, it is
    behind the last offset of this batch if its count of records agrees, as it does where compaction
    took none: a wrong delta could else pass over billions of records. Else it is not known.
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
            # Messages behind it, so it was one: its offset is its last.
            return offset_behind(entry.offset)
        following = offset_at(memoryview(data)[entry.stop :])
        if following is not None and following > entry.offset:
            return following
    if entry.stop - entry.position < BATCH_HEADER.size:
        return None
    header = BatchHeader._make(BATCH_HEADER.unpack_from(data, entry.position))
    if 0 <= header.last_offset_delta == header.record_count - 1:
        return offset_behind(header.last_offset)
    return None
