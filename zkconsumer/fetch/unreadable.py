"""Unreadable entries of a stream's partition: when one can be judged, and where it ends. Pure."""

from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.fetch.core.completed import PackedSet, Unpacked
from zkconsumer.fetch.stream_partition import StreamPartition


def needs_following_bytes(part: StreamPartition, packed: PackedSet, piece: Unpacked) -> bool:
    """Return whether only bytes not fetched yet can show how to skip an entry.

    Args:
        part: the partition.
        packed: its set, before the piece.
        piece: the result of unpacking it.
    """
    records, damage = packed.records, piece.corrupt
    is_in_front = records.fetch_offset == part.state.suspect_offset and piece.chunk is None
    is_lonely = damage is not None and damage is records.misplaced and damage.next_offset is None
    return is_in_front and is_lonely and records.is_cut


def poison_in(part: StreamPartition, packed: PackedSet, piece: Unpacked) -> Poison:
    """Describe the unreadable entry in a set, after a piece of it."""
    tp, offset = part.claim.topic_partition, part.offset
    damage, cut_off = piece.corrupt, piece.cut_off
    if damage is not None:
        failure = PartitionFailed(tp, offset, str(damage), code=damage.errno)
        failure.__cause__ = damage
        return Poison(tp, offset, damage.next_offset, failure, damage.raw)
    assert piece.too_large is not None
    assert cut_off is not None
    raw = bytes(packed.records.data[piece.read_bytes :])
    return Poison(tp, offset, cut_off.next_offset, piece.too_large, raw, raw_is_whole=False)
