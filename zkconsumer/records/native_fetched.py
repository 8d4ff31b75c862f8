"""Decodes fetched records with the native core (``csrc/batches.c``), like ``pure_fetched``.

The core reads valid entries and stops before the first that it rejects, also at a codec whose
library it was built without. ``decode``, the reference, continues there and finds the error, with
the valid records before it. So both engines report the same error at the same position. Import this
module only through ``records.engine``.
"""

import copyreg
import sys
from collections.abc import Iterable

from zkconsumer.native import _core
from zkconsumer.records.batch import GatheredBatches
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, parts_of
from zkconsumer.records.decode import decode_rest
from zkconsumer.records.entries import cut_off_entry
from zkconsumer.records.offset_order import SetPosition
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import CommittedFilter, IsolationLevel
from zkconsumer.wire.messages.fetch import AbortedTransaction

ConsumerRecord.register(_core.ConsumerRecord)
for _kind in (_core.ConsumerRecord, _core.DecodedConsumerRecord):
    copyreg.pickle(_kind, parts_of)


def decode_fetched(  # noqa: PLR0913 - one part a line, all by name
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: Iterable[AbortedTransaction] | None = None,
    kept_codec: Codec = Codec.NONE,
) -> FetchedRecords:
    """Decode like ``pure_fetched.decode_fetched``: same arguments, same results.

    Runs keep the data alive if it is immutable, else they keep a copy.
    """
    is_committed = isolation is IsolationLevel.READ_COMMITTED
    bound_bytes = _bounded(max_decompressed_bytes)
    reader = _core.SetReader(
        data,
        fetch_offset=fetch_offset,
        bound_bytes=bound_bytes,
        enough_bytes=bound_bytes if enough_bytes is None else _bounded(enough_bytes),
        aborted=[(one.first_offset, one.producer_id) for one in aborted or ()]
        if is_committed
        else None,
        kept_codec=kept_codec,
    )
    status = reader.read()
    fetched = reader.fetched()
    if status == _core.REFUSED:
        gathered = GatheredBatches(fetch_offset, bound_bytes, enough_bytes, _filter(reader))
        gathered.next_offset = reader.next_offset
        gathered.remaining_bytes = reader.remaining_bytes
        gathered.last_leader_epoch = reader.last_leader_epoch
        rest = decode_rest(bytes(data), reader.position, gathered)
        return FetchedRecords.of(rest, before=[fetched], refused_at=reader.position)
    cut_off = cut_off_entry(data)
    return FetchedRecords(
        [fetched],
        next_offset=reader.next_offset,
        valid_bytes=reader.position,
        first_entry_size_bytes=None if cut_off is None else cut_off.size_bytes,
        last_leader_epoch=reader.last_leader_epoch,
    )


def find_descent(data: memoryview, entry_position: SetPosition, end: int) -> SetPosition | None:
    """Do the same as ``offset_order.find_descent``, with the core's ``offsets_rise``."""
    position, low, is_first = entry_position
    found = _core.offsets_rise(data, position=position, low=low, is_first=is_first, end=end)
    return None if found is None else SetPosition(*found)


def _bounded(size: int) -> int:
    return min(max(0, size), sys.maxsize)


def _filter(reader: _core.SetReader) -> CommittedFilter | None:
    """Return the filter's state at the entry where the core stopped."""
    found = reader.transactions()
    if found is None:
        return None
    to_come = (
        AbortedTransaction(producer_id=producer_id, first_offset=offset)
        for offset, producer_id in found[0]
    )
    return CommittedFilter.resumed(to_come, found[1])
