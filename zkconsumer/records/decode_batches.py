"""Turns the bytes of one fetched partition into records, with what only batches have; never raises.

It is ``decode`` with headers and leader epochs *beside* the rows, so that whatever carries rows
carries these as well (few records have headers), and with transactions that were aborted left out.
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
    """What one record set held. The attributes of ``DecodedRows`` mean what they say there.

    A batch that is dropped or empty moves ``next_offset`` as any other, so there may be progress
    without records.

    Attributes:
        records: made when they are asked for; without headers, which a ``Record`` has no room for.
        headers: of the records that have some, by their index in ``records``.
        leader_epochs: pairs of an index in ``records`` and the epoch of the leader that wrote the
            records from there on, -1 where it is not known; ascending by index.
        last_leader_epoch: of the last batch that was read, whether it held records for us or not;
            -1 if that is not known. It belongs to the position ``next_offset`` (KIP-320).
    """

    records: Rows
    headers: Mapping[int, Headers]
    leader_epochs: tuple[tuple[int, int], ...]
    last_leader_epoch: int

    def leader_epoch(self, index: int) -> int:
        """The epoch of the leader that wrote the record at an index; -1 if it is not known."""
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
        data: the record set, its last entry perhaps cut off. Records are copies of its bytes.
        fetch_offset: the first offset wanted; a batch may begin before it.
        max_decompressed_bytes: how much all batches and compressed sets in ``data`` may become.
            Where the first one needs more, that is an error. Where a later one does, the record set
            ends in front of it, as if cut off.
        enough_bytes: once so much is decompressed, the record set ends in front of the next
            compressed batch or set, as if cut off.
        isolation: whether batches of aborted transactions are left out. Control batches always are.
        aborted: the aborted transactions of *this* answer; it has them if it was asked for with
            the same isolation.
    """
    committed = None
    if isolation is IsolationLevel.READ_COMMITTED:
        committed = CommittedFilter(aborted)
    gathered = GatheredBatches(fetch_offset, max_decompressed_bytes, enough_bytes, committed)
    return decode_batches_from(bytes(data), 0, gathered)


def decode_batches_from(whole: bytes, position: int, gathered: GatheredBatches) -> DecodedBatches:
    """Decode a record set of which the front was read already, as ``decode.decode_rest`` does.

    Args:
        whole: the record set; places in errors are counted from its first byte.
        position: where its first entry begins that was not read.
        gathered: what reading came to so far.
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
