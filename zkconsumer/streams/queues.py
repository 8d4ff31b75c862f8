"""Makes the queue of a stream for the engine of this process."""

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.stream_queue import StreamQueue

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

__all__ = ["NativeChunkQueue", "StreamQueue", "new_chunk_queue"]


class NativeChunkQueue(StreamQueue):
    """The queue of a stream that native fetch loops fill; see ``StreamQueue``.

    Items of a native loop become a ``Chunk`` when the stream first reads them; items that Python
    adds are kept as they are. The C part never calls Python while it holds its mutex, and no signal
    handler runs in it, so a handler that interrupts the stream's side may use the queue.

    Attributes:
        native: the queue that a native loop fills, after it had the queue ``adopt`` its claims.
    """

    def __init__(self, max_chunks: int, budget: ByteBudget | None = None) -> None:
        self.native = _core.Queue(max_chunks, Chunk)
        super().__init__(self.native, budget)


def new_chunk_queue(max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
    """Make an empty queue; see ``ChunkQueue`` for the arguments."""
    return (NativeChunkQueue if ENGINE is Engine.NATIVE else ChunkQueue)(max_chunks, budget)
