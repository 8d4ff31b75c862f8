"""Cut chunks to a size; ``records.memory`` counts the memory of their records. Pure."""

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.memory import records_bytes

__all__ = ["can_cut", "cut_head", "records_bytes"]


def can_cut(chunk: Chunk, max_bytes: int) -> bool:
    """Return whether it is larger than ``max_bytes``, and has more than one part."""
    parts = len(chunk.records) + (chunk.poison is not None)
    return parts > 1 and chunk.size_bytes > max_bytes


def cut_head(chunk: Chunk, max_bytes: int) -> Chunk:
    """Cut the front off a chunk that can be cut.

    Returns:
        A chunk of at most ``max_bytes``, but of at least one record; ``chunk`` then is the
        rest, with the poison at its end.
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
