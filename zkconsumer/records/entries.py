"""Splits a record set into entries, which have the same frame in every magic.

``entry: offset int64 | size int32 | size bytes``; in every format the magic is byte 16 of the
entry. A fetch may truncate its last entry: that ends the set and is not an error. ``Gathered``
collects the records.

Source: Kafka 0.8.2.2 ``ByteBufferMessageSet``, 0.10 ``Record``, 0.11 ``DefaultRecordBatch``.
"""

import struct
from typing import NamedTuple

from zkconsumer.errors import CorruptRecord
from zkconsumer.records.rows import Row

HEADER_BYTES = 12
"""The size of offset and size, at the start of every entry."""

MIN_ENTRY_SIZE = 14
"""The size of the smallest message: magic 0, null key and null value."""

_MAGIC_AT = 16
_MAX_OFFSET = 2**63 - 1
_HEADER = struct.Struct(">qi")
_INT8 = struct.Struct(">b")


class Entry(NamedTuple):
    """The bounds of a complete entry; ``offset`` is absolute, even if its bytes are relative."""

    offset: int
    position: int
    stop: int
    magic: int

    def corrupt(
        self,
        data: bytes,
        reason: str,
        kind: type[CorruptRecord] = CorruptRecord,
        *,
        can_skip: bool = True,
    ) -> CorruptRecord:
        """Return an error about this entry; with ``can_skip``, reading can continue after it."""
        return kind(
            reason,
            offset=self.offset,
            position=self.position,
            next_offset=offset_after(self.offset) if can_skip else None,
            raw=data[self.position : self.stop],
        )

    def placed(
        self, error: CorruptRecord, data: bytes, what: str, next_offset: int
    ) -> CorruptRecord:
        """Return an error from inside this entry, with its position in the whole record set.

        Args:
            error: the error; without an offset, it concerns everything inside.
            data: the record set.
            what: the name of the entry, for the message about a record inside.
            next_offset: the offset at which reading can continue, unless the error has one.
        """
        is_inside = error.offset >= 0
        return type(error)(
            f"in the {what}: {error.reason}" if is_inside else error.reason,
            offset=error.offset if is_inside else self.offset,
            position=self.position,
            next_offset=next_offset if error.next_offset is None else error.next_offset,
            raw=data[self.position : self.stop],
        )


def unplaced(reason: str, kind: type[CorruptRecord] = CorruptRecord) -> CorruptRecord:
    """Return an error that has no position yet; see ``Entry.placed``."""
    return kind(reason, offset=-1, position=0, next_offset=None)


class Gathered:
    """Collects the records that the readers of all magics find in one record set.

    Attributes:
        fetch_offset: records below it are skipped.
        rows: the records so far, in log order.
        memory_bytes: the memory of the rows, as computed by ``memory.records_bytes``.
        next_offset: the offset after the last complete entry; never decreases.
        remaining_bytes: how much may still be decompressed.
        bound_bytes: the initial value of ``remaining_bytes``.
        enough_bytes: once this much is decompressed, no further set is begun.
        is_full: whether reading stopped early, as the rest needs the capacity of another fetch.
    """

    __slots__ = (
        "bound_bytes",
        "enough_bytes",
        "fetch_offset",
        "is_full",
        "memory_bytes",
        "next_offset",
        "remaining_bytes",
        "rows",
    )

    def __init__(
        self, fetch_offset: int, max_decompressed_bytes: int, enough_bytes: int | None = None
    ) -> None:
        self.fetch_offset = fetch_offset
        self.rows: list[Row] = []
        self.memory_bytes = 0
        self.next_offset = fetch_offset
        self.remaining_bytes = max_decompressed_bytes
        self.bound_bytes = max_decompressed_bytes
        self.enough_bytes = max_decompressed_bytes if enough_bytes is None else enough_bytes
        self.is_full = False

    @property
    def has_enough(self) -> bool:
        """Whether the next compressed set should be left to another call."""
        used_bytes = self.bound_bytes - self.remaining_bytes
        return 0 < used_bytes >= self.enough_bytes

    def advance(self, offset: int) -> None:
        """Record that the entry at ``offset`` has been read."""
        if offset >= self.next_offset:
            self.next_offset = offset_after(offset)


def offset_after(offset: int) -> int:
    """Return the offset after this one, at most the largest int64: this one may be corrupt."""
    return min(offset + 1, _MAX_OFFSET)


def entry_at(data: bytes, position: int, base_offset: int = 0) -> Entry | None:
    """Return the entry at a position; None if the data ends before it does.

    Raises:
        CorruptRecord: its size or offset is invalid.
    """
    if len(data) - position < HEADER_BYTES:
        return None
    offset, size = _HEADER.unpack_from(data, position)
    stop = position + HEADER_BYTES + size
    entry = Entry(base_offset + offset, position, max(stop, position + HEADER_BYTES), 0)
    if size < MIN_ENTRY_SIZE:
        reason = f"entry size {size} is less than {MIN_ENTRY_SIZE}"
        raise entry.corrupt(data, reason, can_skip=False)
    if stop > len(data):
        return None
    if entry.offset < 0:
        raise entry.corrupt(data, "negative offset", can_skip=False)
    (magic,) = _INT8.unpack_from(data, position + _MAGIC_AT)
    return entry._replace(magic=magic)


def offset_at(data: bytes | memoryview) -> int | None:
    """Return the offset of the first entry; None if its header is incomplete."""
    if len(data) < HEADER_BYTES:
        return None
    offset: int = _HEADER.unpack_from(data)[0]
    return offset


class CutOff(NamedTuple):
    """An incomplete entry at the end of the data.

    ``size_bytes`` is its whole size, header included. ``next_offset`` is the offset to continue at
    after it; None if its beginning does not determine that.
    """

    size_bytes: int
    next_offset: int | None


def cut_off_entry(data: bytes | memoryview) -> CutOff | None:
    """Return the first entry if it is incomplete, else None."""
    if len(data) < HEADER_BYTES:
        return None
    offset, size = _HEADER.unpack_from(data)
    whole: int = HEADER_BYTES + size
    if size < MIN_ENTRY_SIZE or whole <= len(data):
        return None
    # Only up to magic 1 is an entry's offset that of its last message.
    is_last = offset >= 0 and len(data) > _MAGIC_AT and data[_MAGIC_AT] in (0, 1)
    return CutOff(whole, offset_after(offset) if is_last else None)
