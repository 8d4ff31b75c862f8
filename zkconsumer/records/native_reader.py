"""Reads a set of any format by the native core, and hands what it refuses to the definition.

The core reads what is sound. Batches of a codec that it does not have it leaves to Python one by
one: they come back decompressed, and it goes on with their records. In front of anything else it
stops, and ``decode`` goes on from there.
"""

import sys
from collections.abc import Iterable

from zkconsumer.errors import CorruptRecord
from zkconsumer.native import _core
from zkconsumer.records.batch import GatheredBatches
from zkconsumer.records.batch_header import MAGIC
from zkconsumer.records.bounded import OverBound
from zkconsumer.records.codecs import Codec, decompress
from zkconsumer.records.transactions import CommittedFilter
from zkconsumer.wire.messages.fetch import AbortedTransaction

_MOST_BYTES = sys.maxsize


def read_natively(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    aborted: Iterable[AbortedTransaction] | None = None,
) -> tuple[_core.SetReader, int]:
    """Read as far as the core comes.

    Args:
        data: the record set. Runs keep it alive where it can't change, else they keep a copy.
        fetch_offset: as of ``decode``; so are the next two.
        max_decompressed_bytes: see there.
        enough_bytes: see there.
        aborted: the aborted transactions, whose batches are left out; None: all are seen.

    Returns:
        The reader, and whether it is through (``ENDS``, ``FULL``) or stopped (``REFUSED``).
    """
    bound_bytes = _bounded(max_decompressed_bytes)
    wanted = max_decompressed_bytes if enough_bytes is None else enough_bytes
    reader = _core.SetReader(
        data,
        fetch_offset=fetch_offset,
        bound_bytes=bound_bytes,
        enough_bytes=_bounded(wanted),
        aborted=None
        if aborted is None
        else [(one.first_offset, one.producer_id) for one in aborted],
    )
    while (status := reader.read()) == _core.FOREIGN:
        status = _take_foreign(reader, data, bound_bytes)
        if status != _core.ENDS:
            break
    return reader, status


def gathered_by(
    reader: _core.SetReader,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None,
) -> GatheredBatches:
    """Return what the definition goes on with in front of the entry at which the core stopped."""
    bound_bytes = _bounded(max_decompressed_bytes)
    gathered = GatheredBatches(fetch_offset, bound_bytes, enough_bytes, _filter(reader))
    gathered.next_offset = reader.next_offset
    gathered.room_bytes = reader.room_bytes
    gathered.last_leader_epoch = reader.last_leader_epoch
    return gathered


def _bounded(size: int) -> int:
    return min(max(0, size), _MOST_BYTES)


def _take_foreign(reader: _core.SetReader, data: bytes | memoryview, bound_bytes: int) -> int:
    """Decompress the batch at which the core stopped, and give it the records."""
    codec, start, stop = reader.foreign()
    if codec != Codec.ZSTD:
        return _core.REFUSED
    room_bytes = reader.room_bytes
    try:
        body = decompress(
            Codec.ZSTD, memoryview(data)[start:stop], magic=MAGIC, max_bytes=room_bytes
        )
    except OverBound:
        # With room already used, the next fetch starts at this batch.
        return _core.REFUSED if room_bytes == bound_bytes else _core.FULL
    except CorruptRecord:
        return _core.REFUSED
    return reader.take(body)


def _filter(reader: _core.SetReader) -> CommittedFilter | None:
    """The filter as it stands in front of the entry at which the core stopped."""
    found = reader.transactions()
    if found is None:
        return None
    to_come = (
        AbortedTransaction(producer_id=producer_id, first_offset=offset)
        for offset, producer_id in found[0]
    )
    return CommittedFilter.resumed(to_come, found[1])
