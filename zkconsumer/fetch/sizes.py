"""Chunks cut to a size; what their records take is counted by ``records.memory``. Pure."""

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.memory import records_bytes

__all__ = ["can_cut", "cut_head", "records_bytes"]


def can_cut(chunk: Chunk, max_bytes: int) -> bool:
    """Whether it is larger than ``max_bytes``, and of more than one part."""
    parts = len(chunk.records) + (chunk.poison is not None)
    return parts > 1 and chunk.size_bytes > max_bytes


def cut_head(chunk: Chunk, max_bytes: int) -> Chunk:
    """Take the front out of a chunk that can be cut.

    Returns:
        A chunk of at most ``max_bytes``, but of one record at least; ``chunk`` then is what
        follows, with the poison at its end.
    """
    count, size_bytes = 0, 0
    for record in chunk.records:
        one_bytes = records_bytes((record,))
        if count and size_bytes + one_bytes > max_bytes:
            break
        count, size_bytes = count + 1, size_bytes + one_bytes
    behind = chunk.records[count - 1].offset + 1
    head = Chunk(chunk.claim, chunk.fetch_offset, behind, chunk.records[:count], size_bytes)
    chunk.fetch_offset = behind
    chunk.records = chunk.records[count:]
    chunk.size_bytes -= size_bytes
    return head
