"""Cut chunks to a size; ``records.memory`` counts the memory of their records. Pure."""

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.memory import records_bytes

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core


def are_native(chunk: Chunk) -> bool:
    """Return whether a chunk's records are runs of the native engine."""
    return ENGINE is Engine.NATIVE and isinstance(chunk.records, _core.Runs)


def can_cut(chunk: Chunk, max_bytes: int) -> bool:
    """Return whether a chunk is larger than ``max_bytes``, and has more than one part."""
    parts = len(chunk.records) + (chunk.poison is not None)
    return parts > 1 and chunk.size_bytes > max_bytes


def least_bytes(chunk: Chunk) -> int:
    """Return the size of a chunk's first record; 0 for native ones, which are sized when cut."""
    return 0 if are_native(chunk) else records_bytes(chunk.records[:1])


def cut_head(chunk: Chunk, max_bytes: int) -> Chunk:
    """Cut the front off a chunk that can be cut; native records stay native.

    Returns:
        A chunk of at most ``max_bytes``, but of at least one record; ``chunk`` keeps the rest,
        with the poison at its end.
    """
    if ENGINE is Engine.NATIVE and isinstance(chunk.records, _core.Runs):
        return _cut_runs(chunk, chunk.records, max_bytes)
    count, size_bytes = 0, 0
    for record in chunk.records:
        one_bytes = records_bytes((record,))
        if count and size_bytes + one_bytes > max_bytes:
            break
        count, size_bytes = count + 1, size_bytes + one_bytes
    next_offset = chunk.records[count - 1].offset + 1
    head = Chunk(chunk.claim, chunk.fetch_offset, next_offset, chunk.records[:count], size_bytes)
    chunk.fetch_offset = next_offset
    chunk.records = chunk.records[count:]
    chunk.size_bytes -= size_bytes
    return head


def _cut_runs(chunk: Chunk, records: "_core.Runs", max_bytes: int) -> Chunk:
    front, rest = (records, None) if len(records) == 1 else records.split(max_bytes)
    next_offset = front.runs[-1].last_offset + 1
    head = Chunk(chunk.claim, chunk.fetch_offset, next_offset, front, front.memory_bytes)
    # The poison after the records is charged to the rest.
    poison_bytes = max(0, chunk.size_bytes - records.memory_bytes)
    chunk.fetch_offset = next_offset
    chunk.records = () if rest is None else rest
    chunk.size_bytes = poison_bytes + (0 if rest is None else rest.memory_bytes)
    return head
