"""Decodes the bytes of a fetched partition, with headers and leader epochs; never raises.

Headers and leader epochs lie *beside* the rows, so that they travel with them (few records have
headers); aborted transactions are dropped.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zkconsumer.records.batch import GatheredBatches
from zkconsumer.records.batch_header import NO_LEADER_EPOCH
from zkconsumer.records.decode import DecodedRows, read_on
from zkconsumer.records.entries import cut_off_entry
from zkconsumer.records.rows import Headers, Rows
from zkconsumer.records.transactions import CommittedFilter, IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatches(DecodedRows):
    """The content of a record set. The attributes of ``DecodedRows`` mean the same here.

    A dropped or empty batch advances ``next_offset`` like any other, so there may be progress
    without records.

    Attributes:
        records: made on access; without headers, which a ``Record`` has no field for.
        headers: of the records that have any, by their index in ``records``.
        leader_epochs: pairs of an index in ``records`` and the leader epoch of the records from
            there on, -1 if unknown; ascending by index.
        last_leader_epoch: of the last batch read, with visible records or not; -1 if unknown. It
            belongs to ``next_offset`` (KIP-320).
    """

    records: Rows
    headers: Mapping[int, Headers]
    leader_epochs: tuple[tuple[int, int], ...]
    last_leader_epoch: int

    def leader_epoch(self, index: int) -> int:
        """Return the leader epoch of the record at an index; -1 if unknown."""
        place = bisect_right(self.leader_epochs, index, key=lambda pair: pair[0])
        return self.leader_epochs[place - 1][1] if place else NO_LEADER_EPOCH


def decode_batches(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
) -> DecodedBatches:
    """Decode the record set that a broker returned for a fetch from ``fetch_offset``.

    Args:
        data: the record set, whose last entry may be incomplete. Records copy its bytes.
        fetch_offset: the first offset to return; a batch may begin before it.
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
    return decode_batches_from(bytes(data), 0, gathered)


def decode_batches_from(whole: bytes, position: int, gathered: GatheredBatches) -> DecodedBatches:
    """Decode the rest of a partly read record set, like ``decode.decode_rest``.

    Args:
        whole: the record set; positions in errors count from its start.
        position: of the first unread entry.
        gathered: the result so far.
    """
    position, error = read_on(whole, position, gathered)
    cut_off = cut_off_entry(whole)
    return DecodedBatches(
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
