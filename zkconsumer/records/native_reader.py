"""Reads a set of any format with the native core; the reference reads what the core rejects.

The core reads valid entries and stops at anything else, also at a codec whose library it was built
without; ``decode`` continues there.
"""

import sys
from collections.abc import Iterable

from zkconsumer.native import _core
from zkconsumer.records.batch import GatheredBatches
from zkconsumer.records.codecs import Codec
from zkconsumer.records.offset_order import SetPosition
from zkconsumer.records.transactions import CommittedFilter
from zkconsumer.wire.messages.fetch import AbortedTransaction

_MOST_BYTES = sys.maxsize


def read_natively(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None,
    aborted: Iterable[AbortedTransaction] | None,
    kept_codec: Codec,
) -> tuple[_core.SetReader, int]:
    """Read a record set with the core until it stops.

    Args:
        data: the record set. Runs keep it alive if it is immutable, else they keep a copy.
        fetch_offset: as in ``decode``, like the next two.
        max_decompressed_bytes: see there.
        enough_bytes: see there.
        aborted: the aborted transactions, which are dropped; None: they are read, too.
        kept_codec: see ``decode_fetched``.

    Returns:
        The reader, and whether it finished (``ENDS``, ``FULL``) or stopped (``REFUSED``).
    """
    wanted = max_decompressed_bytes if enough_bytes is None else enough_bytes
    reader = _core.SetReader(
        data,
        fetch_offset=fetch_offset,
        bound_bytes=_bounded(max_decompressed_bytes),
        enough_bytes=_bounded(wanted),
        aborted=None
        if aborted is None
        else [(transaction.first_offset, transaction.producer_id) for transaction in aborted],
        kept_codec=kept_codec,
    )
    return reader, reader.read()


def gathered_by(
    reader: _core.SetReader,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None,
) -> GatheredBatches:
    """Return the state with which the reference continues at the entry where the core stopped."""
    bound_bytes = _bounded(max_decompressed_bytes)
    gathered = GatheredBatches(fetch_offset, bound_bytes, enough_bytes, _filter(reader))
    gathered.next_offset = reader.next_offset
    gathered.remaining_bytes = reader.remaining_bytes
    gathered.last_leader_epoch = reader.last_leader_epoch
    return gathered


def find_descent(data: memoryview, entry_position: SetPosition, end: int) -> SetPosition | None:
    """Do the same as ``offset_order.find_descent``, with the core's ``offsets_rise``."""
    position, low, is_first = entry_position
    found = _core.offsets_rise(data, position=position, low=low, is_first=is_first, end=end)
    return None if found is None else SetPosition(*found)


def _bounded(size: int) -> int:
    return min(max(0, size), _MOST_BYTES)


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
