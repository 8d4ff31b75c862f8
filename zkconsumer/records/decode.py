"""Decodes the bytes of a fetched partition into records; never raises, whatever the bytes.

A record set is a sequence of entries. The reader of each magic reads all consecutive entries of its
format: messages, batches, or first messages and then batches, if the broker was upgraded in
between. This is the reference for all readers: streams, polls and ranges.

Headers and leader epochs are kept *beside* the rows and passed on with them, as few records have
headers. Aborted transactions are dropped if a filter is given.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.errors import CorruptRecord, without_frames
from zkconsumer.records.batch import GatheredBatches, is_before_fetch_offset, read_batches
from zkconsumer.records.batch_header import MAGIC, NO_LEADER_EPOCH, corrupt_batch
from zkconsumer.records.entries import cut_off_entry, entry_at, offset_after
from zkconsumer.records.legacy import MAGICS, read_messages
from zkconsumer.records.rows import Headers, Rows
from zkconsumer.records.transactions import CommittedFilter, IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedSet:
    """The content of a record set, with records made on access.

    A dropped or empty batch advances ``next_offset`` like any other, so there may be progress
    without records.

    Attributes:
        records: the records at or above the fetch offset, in log order; without headers, which a
            ``Record`` has no field for.
        next_offset: the next fetch offset: after the last whole entry read, never below the fetch
            offset. With an error, a fetch from here reads the same entry again.
        valid_bytes: the size of the entries read.
        first_entry_size_bytes: the size of the first entry, including its header of 12 bytes, if
            the header is complete but the entry is not; else None.
        error: the error of the entry at which reading stopped; None if there is none.
        memory_bytes: the memory of the records, as computed by ``memory.records_bytes``.
        headers: the headers of the records that have any, by their index in ``records``.
        leader_epochs: pairs of an index in ``records`` and the leader epoch of the records from
            there on, -1 if unknown; ascending by index.
        last_leader_epoch: that of the last batch read, even without visible records; -1 if unknown.
            It belongs to ``next_offset`` (KIP-320).
    """

    records: Rows
    next_offset: int
    valid_bytes: int
    first_entry_size_bytes: int | None
    error: CorruptRecord | None
    memory_bytes: int
    headers: Mapping[int, Headers]
    leader_epochs: tuple[tuple[int, int], ...]
    last_leader_epoch: int

    def leader_epoch(self, index: int) -> int:
        """Return the leader epoch of the record at an index; -1 if unknown."""
        place = bisect_right(self.leader_epochs, index, key=lambda pair: pair[0])
        return self.leader_epochs[place - 1][1] if place else NO_LEADER_EPOCH


def decode_record_set(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
) -> DecodedSet:
    """Decode the record set that a broker returned for a fetch from ``fetch_offset``.

    Entries below ``fetch_offset`` are skipped unread, so after a CorruptRecord reading can continue
    at its ``next_offset`` even in the middle of a compressed set.

    Args:
        data: the record set, whose last entry may be incomplete. Records copy its bytes.
        fetch_offset: the first offset to return; a batch or compressed set may begin before it.
        max_decompressed_bytes: the limit of all batches and compressed sets in ``data`` together.
            It is an error if the first one exceeds it. If a later one does, the record set ends
            before it, as if truncated.
        enough_bytes: once this much is decompressed, the record set ends before the next compressed
            batch or set, as if truncated.
        isolation: whether aborted transactions are dropped. Control batches always are.
        aborted: the aborted transactions of *this* fetch response, which lists them if it was
            requested with the same isolation level.
    """
    committed = None
    if isolation is IsolationLevel.READ_COMMITTED:
        committed = CommittedFilter(aborted)
    gathered = GatheredBatches(fetch_offset, max_decompressed_bytes, enough_bytes, committed)
    return decode_rest(bytes(data), 0, gathered)


def decode_rest(whole: bytes, position: int, gathered: GatheredBatches) -> DecodedSet:
    """Decode the rest of a partly read record set.

    Args:
        whole: the record set; positions in errors count from its start.
        position: the position of the first unread entry.
        gathered: the result so far.
    """
    position, error = _read_on(whole, position, gathered)
    cut_off = cut_off_entry(whole)
    return DecodedSet(
        records=Rows(gathered.rows),
        next_offset=gathered.next_offset,
        valid_bytes=position,
        first_entry_size_bytes=None if cut_off is None else cut_off.size_bytes,
        error=error,
        memory_bytes=gathered.memory_bytes,
        headers=gathered.headers,
        leader_epochs=tuple(gathered.leader_epochs),
        last_leader_epoch=gathered.last_leader_epoch,
    )


def _read_on(
    whole: bytes, position: int, gathered: GatheredBatches
) -> tuple[int, CorruptRecord | None]:
    """Read a record set from a position; return where reading stopped, and the error or None."""
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
    """Read the entries of one format; return the position of the first other entry."""
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
        # Nothing indicates a batch, so it counts as a message, with one offset.
        error.next_offset = offset_after(entry.offset)
    if is_before_fetch_offset(error, gathered.fetch_offset):
        return entry.stop
    raise error
