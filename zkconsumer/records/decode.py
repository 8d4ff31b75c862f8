"""Turns the bytes of one fetched partition into records; never raises, whatever the bytes.

A record set is a row of entries. Each is handed to the reader of its magic, which takes as many
entries of its own kind as follow each other: messages, batches, or first these and then those, as
a broker was when it wrote them. What only batches have, ``decode_batches`` gives besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from zkconsumer.errors import CorruptRecord, without_frames
from zkconsumer.model import Record
from zkconsumer.records.batch import GatheredBatches, passed_over, read_batches
from zkconsumer.records.batch_header import MAGIC, NO_LEADER_EPOCH, corrupt_batch
from zkconsumer.records.entries import cut_off_entry, entry_at, offset_behind
from zkconsumer.records.legacy import MAGICS, read_messages
from zkconsumer.records.rows import Rows, made, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRows:
    """What one record set held, with records that are made when they are asked for.

    Attributes:
        records: the records at or above the fetch offset, in log order.
        next_offset: where to fetch next: behind the last whole entry that was read, and never
            below the fetch offset. With an error, a fetch from here meets the same entry again.
        valid_bytes: the size of the whole entries that were read.
        first_entry_size_bytes: the size of the first entry, with its 12 bytes of header, where
            that header is there but the entry does not fit into the data; else None.
        error: what is wrong with the entry at which reading stopped; None if nothing.
        memory_bytes: what the records take in memory, as ``memory.records_bytes`` counts it.
    """

    records: Sequence[Record]
    next_offset: int
    valid_bytes: int
    first_entry_size_bytes: int | None
    error: CorruptRecord | None
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedSet(DecodedRows):
    """The same with records that are made already."""

    records: list[Record]


def decode_record_set(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedSet:
    """Decode the record set that a broker returned for a fetch from ``fetch_offset``.

    Entries below ``fetch_offset`` are ignored unread, so after a CorruptRecord reading can
    go on at its ``next_offset`` even in the middle of a compressed set.

    Args:
        data: the record set, its last entry perhaps cut off. Records are copies of its bytes.
        fetch_offset: the first offset wanted; a compressed set may begin before it.
        max_decompressed_bytes: how much all compressed sets in ``data`` may become. Where the
            first one needs more, that is an error. Where a later one does, the record set ends
            in front of it, as if cut off.
        enough_bytes: once so much is decompressed, the record set ends in front of the next
            compressed one, as if cut off.
    """
    decoded = decode_rows(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
    )
    return DecodedSet(
        records=made(plain(decoded.records)),
        next_offset=decoded.next_offset,
        valid_bytes=decoded.valid_bytes,
        first_entry_size_bytes=decoded.first_entry_size_bytes,
        error=decoded.error,
        memory_bytes=decoded.memory_bytes,
    )


def decode_rows(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedRows:
    """Decode as ``decode_record_set`` does, without making records."""
    gathered = GatheredBatches(fetch_offset, max_decompressed_bytes, enough_bytes)
    return decode_rest(bytes(data), 0, gathered)


def decode_rest(whole: bytes, position: int, gathered: GatheredBatches) -> DecodedRows:
    """Decode a record set of which the front was read already.

    Args:
        whole: the record set; places in errors are counted from its first byte.
        position: where its first entry begins that was not read.
        gathered: what reading came to so far.
    """
    position, error = read_on(whole, position, gathered)
    cut_off = cut_off_entry(whole)
    return DecodedRows(
        records=Rows(gathered.rows),
        next_offset=gathered.next_offset,
        valid_bytes=position,
        first_entry_size_bytes=None if cut_off is None else cut_off.size_bytes,
        error=error,
        memory_bytes=gathered.memory_bytes,
    )


def read_on(
    whole: bytes, position: int, gathered: GatheredBatches
) -> tuple[int, CorruptRecord | None]:
    """Read a record set from a position on: gives where it ended, and what is wrong there."""
    try:
        while not gathered.is_full:
            before = position
            position = _read_alike(whole, position, gathered)
            if position == before:
                break
    except CorruptRecord as corrupt:
        return corrupt.position, without_frames(corrupt)
    return position, None


def _read_alike(data: bytes, position: int, gathered: GatheredBatches) -> int:
    """Read the entries of one format from a position on; what can't be read any more is left."""
    entry = entry_at(data, position)
    if entry is None:
        return position
    if entry.magic == MAGIC:
        return read_batches(data, position, gathered)
    if entry.magic in MAGICS:
        gathered.begin(NO_LEADER_EPOCH)
        return read_messages(data, position, gathered)
    error = corrupt_batch(data, entry, f"record format with magic {entry.magic} is not supported")
    if error.next_offset is None:
        # Nothing tells that it was a batch: then it is a message, of one offset.
        error.next_offset = offset_behind(entry.offset)
    if passed_over(error, gathered.fetch_offset):
        return entry.stop
    raise error
