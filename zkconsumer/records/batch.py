"""Reads record batches (magic 2): decides which are visible, and reports their errors.

A batch that ends below the fetch offset is skipped, and so is a corrupt batch if reading would
continue after it at or below the fetch offset. Control batches hold no user records; with a filter
the batches of aborted transactions are dropped, too, by their headers, without decompressing them.

Decompressed batches are limited in size as wrappers are: see ``legacy``.

The native core, if built, does the same (decision 0020); this is the reference.
"""

from zkconsumer.errors import CorruptRecord, UnsupportedCodec
from zkconsumer.records.batch_header import (
    BATCH_HEADER,
    MAGIC,
    NO_LEADER_EPOCH,
    BatchHeader,
    sound_header,
)
from zkconsumer.records.batch_records import read_records
from zkconsumer.records.bounded import OverBound
from zkconsumer.records.codecs import Codec, decompress
from zkconsumer.records.entries import Entry, Gathered, entry_at, offset_after, unplaced
from zkconsumer.records.memory import headers_bytes, records_bytes
from zkconsumer.records.rows import Headers
from zkconsumer.records.transactions import CommittedFilter, Marker, marker_of

_CODECS = frozenset(Codec)


class GatheredBatches(Gathered):
    """Collects the rows that are read from batches, with their headers and leader epochs.

    Attributes:
        committed: decides which batches are dropped; None: aborted transactions are read, too.
        headers: the headers of the records that have any, by their index in ``rows``.
        leader_epochs: pairs of an index in ``rows`` and the leader epoch of the records from there
            on, -1 if unknown.
        last_leader_epoch: that of the last batch read, even if it was dropped.
    """

    __slots__ = ("committed", "headers", "last_leader_epoch", "leader_epochs")

    def __init__(
        self,
        fetch_offset: int,
        max_decompressed_bytes: int,
        enough_bytes: int | None,
        committed: CommittedFilter | None,
    ) -> None:
        super().__init__(fetch_offset, max_decompressed_bytes, enough_bytes)
        self.committed = committed
        self.headers: dict[int, Headers] = {}
        self.leader_epochs: list[tuple[int, int]] = []
        self.last_leader_epoch = NO_LEADER_EPOCH

    def begin(self, leader_epoch: int) -> None:
        """Record the leader epoch of the rows from here on."""
        self.last_leader_epoch = leader_epoch
        if self.leader_epochs and self.leader_epochs[-1][0] == len(self.rows):
            self.leader_epochs.pop()
        known = self.leader_epochs[-1][1] if self.leader_epochs else None
        if known != leader_epoch:
            self.leader_epochs.append((len(self.rows), leader_epoch))


def read_batches(data: bytes, position: int, gathered: GatheredBatches) -> int:
    """Read whole batches up to the first entry that is incomplete or of another format.

    Returns:
        The position after the last batch read.

    Raises:
        CorruptRecord: at the first corrupt batch; the rows before it are gathered.
    """
    while (entry := entry_at(data, position)) is not None and entry.magic == MAGIC:
        header = _header(data, entry, gathered.fetch_offset)
        if header is not None:
            if not _read_batch(data, entry, header, gathered):
                break
            gathered.advance(header.last_offset)
        position = entry.stop
    return position


def is_before_fetch_offset(error: CorruptRecord, fetch_offset: int) -> bool:
    """Return whether a corrupt entry is skipped because the fetch offset is past it."""
    return error.next_offset is not None and error.next_offset <= fetch_offset


def _header(data: bytes, entry: Entry, fetch_offset: int) -> BatchHeader | None:
    try:
        return sound_header(data, entry)
    except CorruptRecord as error:
        if is_before_fetch_offset(error, fetch_offset):
            return None
        raise


def _read_batch(data: bytes, entry: Entry, header: BatchHeader, gathered: GatheredBatches) -> bool:
    """Read a valid batch, or drop it; return False if it must wait for capacity."""
    if _is_dropped(data, entry, header, gathered) or header.last_offset < gathered.fetch_offset:
        gathered.begin(header.leader_epoch)
        return True
    if header.codec and header.record_count and gathered.has_enough:
        gathered.is_full = True
        return False
    is_untouched = gathered.remaining_bytes == gathered.bound_bytes
    try:
        body, start, stop = _body(data, entry, header, gathered)
    except OverBound as error:
        if not is_untouched:
            # The batches before it used up the capacity: the next fetch starts at this one.
            gathered.is_full = True
            return False
        raise _placed(error, data, entry, header) from error
    except CorruptRecord as error:
        raise _placed(error, data, entry, header) from error
    gathered.begin(header.leader_epoch)
    found, damage = read_records(body, start, stop, header, gathered.fetch_offset)
    count = len(gathered.rows)
    gathered.rows += found.rows
    gathered.memory_bytes += records_bytes(found.rows)
    for place, headers in found.headers.items():
        gathered.headers[count + place] = headers
        gathered.memory_bytes += headers_bytes(headers)
    if damage is not None:
        if found.rows:
            gathered.advance(found.rows[-1][0])
        raise _placed(damage, data, entry, header) from damage
    return True


def _is_dropped(data: bytes, entry: Entry, header: BatchHeader, gathered: GatheredBatches) -> bool:
    if gathered.committed is None:
        return header.is_control
    marker = None
    if header.is_control:
        try:
            marker = _marker(data, entry, header)
        except CorruptRecord:
            if header.last_offset >= gathered.fetch_offset:
                raise
    return gathered.committed.drops(header, marker)


def _marker(data: bytes, entry: Entry, header: BatchHeader) -> Marker:
    """Return the marker of a control batch; brokers write these uncompressed."""
    if not header.record_count:
        return Marker.OTHER  # removed by compaction: the transaction has no records left
    if header.codec:
        raise _placed(unplaced("compressed control batch"), data, entry, header)
    start = entry.position + BATCH_HEADER.size
    found, damage = read_records(data, start, entry.stop, header, 0)
    if damage is not None:
        raise _placed(damage, data, entry, header) from damage
    try:
        return marker_of(found.rows[0][1])
    except ValueError as error:
        raise _placed(unplaced(str(error)), data, entry, header) from error


def _body(
    data: bytes, entry: Entry, header: BatchHeader, gathered: GatheredBatches
) -> tuple[bytes, int, int]:
    """Return a batch's records, decompressed, with their start and end."""
    if not header.record_count:
        return b"", 0, 0
    start = entry.position + BATCH_HEADER.size
    if not header.codec:
        return data, start, entry.stop
    if header.codec not in _CODECS:
        raise unplaced(f"unknown codec {header.codec} in magic {MAGIC}", UnsupportedCodec)
    body = decompress(
        Codec(header.codec),
        memoryview(data)[start : entry.stop],
        magic=MAGIC,
        max_bytes=gathered.remaining_bytes,
    )
    gathered.remaining_bytes -= len(body)
    return body, 0, len(body)


def _placed(error: CorruptRecord, data: bytes, entry: Entry, header: BatchHeader) -> CorruptRecord:
    what = f"batch from offset {entry.offset}"
    return entry.placed(error, data, what, offset_after(header.last_offset))
