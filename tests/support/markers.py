"""The control batches (markers) that end transactions."""

import struct

from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.transactions import Marker

_MARKER_KEY = struct.Struct(">hh")
_MARKER_VALUE = struct.Struct(">hi")


def build_marker(
    marker: Marker, offset: int, *, timestamp: int, traits: BatchTraits, coordinator_epoch: int = 0
) -> bytes:
    """Return the control batch that ends a producer's transaction.

    Args:
        marker: COMMIT or ABORT.
        offset: the marker's offset in the log.
        timestamp: the record's timestamp.
        traits: producer and leader epoch; the result is always a transactional control batch.
        coordinator_epoch: the epoch of the coordinator that ended the transaction.
    """
    written = BatchTraits(
        leader_epoch=traits.leader_epoch,
        producer_id=traits.producer_id,
        producer_epoch=traits.producer_epoch,
        is_transactional=True,
        is_control=True,
    )
    key, value = _MARKER_KEY.pack(0, marker), _MARKER_VALUE.pack(0, coordinator_epoch)
    record = Record(offset, key, value, timestamp, TimestampType.CREATE_TIME)
    return build_batch([record], traits=written)
