"""Turns the bytes of one fetched partition into records; never raises, whatever the bytes.

A record set is a row of entries. Each is handed to the reader of its magic, which takes as many
entries of its own kind as follow each other. A new format is a line in ``_READERS``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from zkconsumer.errors import CorruptRecord, without_frames
from zkconsumer.model import Record
from zkconsumer.records import legacy
from zkconsumer.records.entries import Gathered, cut_off_entry, entry_at
from zkconsumer.records.rows import Rows, made, plain

Reader = Callable[[bytes, int, Gathered], int]
"""Reads whole entries of its magic from a position on and returns the position behind them.

It may raise CorruptRecord, after gathering what came before.
"""


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

    Entries below ``fetch_offset`` are passed over unread, so after a CorruptRecord reading can
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
    gathered = Gathered(fetch_offset, max_decompressed_bytes, enough_bytes)
    return decode_rest(bytes(data), 0, gathered)


def decode_rest(whole: bytes, position: int, gathered: Gathered) -> DecodedRows:
    """Decode a record set of which the front was read already.

    Args:
        whole: the record set; places in errors are counted from its first byte.
        position: where its first entry begins that was not read.
        gathered: what reading came to so far.
    """
    error: CorruptRecord | None = None
    try:
        while not gathered.is_full and (entry := entry_at(whole, position)) is not None:
            reader = _READERS.get(entry.magic)
            if reader is None:
                # Magic 2 exists, and its offset is not that of its last record. All else is damage.
                reason = f"record format with magic {entry.magic} is not supported"
                raise entry.corrupt(whole, reason, can_skip=entry.magic != 2)
            position = reader(whole, position, gathered)
    except CorruptRecord as corrupt:
        error = without_frames(corrupt)
        position = corrupt.position
    cut_off = cut_off_entry(whole)
    return DecodedRows(
        records=Rows(gathered.rows),
        next_offset=gathered.next_offset,
        valid_bytes=position,
        first_entry_size_bytes=None if cut_off is None else cut_off.size_bytes,
        error=error,
        memory_bytes=gathered.memory_bytes,
    )


_READERS: Mapping[int, Reader] = MappingProxyType(
    {0: legacy.read_messages, 1: legacy.read_messages}
)
