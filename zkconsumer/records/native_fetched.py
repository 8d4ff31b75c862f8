"""Decodes fetched records with the native core (``csrc/batches.c``), like ``pure_fetched``.

The core reads valid entries (``native_reader``). It stops before the first entry that it rejects,
and ``decode``, the reference, continues there and finds the error, with the valid records before
it. So both engines report the same error at the same position. Import this module only through
``records.fetched``.
"""

import copyreg
from collections.abc import Iterable

from zkconsumer.native import _core
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import ConsumerRecord, parts_of
from zkconsumer.records.decode import decode_rest
from zkconsumer.records.entries import cut_off_entry
from zkconsumer.records.native_reader import gathered_by, read_natively
from zkconsumer.records.slices import FetchedRecords
from zkconsumer.records.transactions import IsolationLevel
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
    """Decode like ``pure_fetched.decode_fetched``: same arguments, same results."""
    is_committed = isolation is IsolationLevel.READ_COMMITTED
    reader, status = read_natively(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
        aborted=(aborted or ()) if is_committed else None,
        kept_codec=kept_codec,
    )
    fetched = reader.fetched()
    if status == _core.REFUSED:
        gathered = gathered_by(reader, fetch_offset, max_decompressed_bytes, enough_bytes)
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
