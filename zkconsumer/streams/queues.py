"""Makes the queue of a stream, in the engine of this process."""

from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.stream_queue import StreamQueue

__all__ = ["StreamQueue", "new_chunk_queue"]


def new_chunk_queue(max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
    """Make an empty queue; see ``ChunkQueue`` for the arguments."""
    if ENGINE is Engine.NATIVE:
        # The native core may be missing or disabled.
        from zkconsumer.streams.native_queue import NativeChunkQueue  # noqa: PLC0415

        return NativeChunkQueue(max_chunks, budget)
    return ChunkQueue(max_chunks, budget)
