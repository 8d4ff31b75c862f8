"""The queue of a stream that native fetch loops fill.

What a native loop adds becomes a ``Chunk`` when the stream first sees it; what Python adds is kept.
The C part never calls Python while it holds its mutex, and no signal handler runs in it: so a
handler that interrupts the stream's side may use the queue.
"""

from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.native import _core
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.stream_queue import StreamQueue


class NativeChunkQueue(StreamQueue):
    """See ``StreamQueue``.

    Attributes:
        native: the queue that a native loop fills; it must ``adopt`` their claims first.
    """

    def __init__(self, max_chunks: int, budget: ByteBudget | None = None) -> None:
        self.native = _core.Queue(max_chunks, Chunk)
        super().__init__(self.native, budget)

    def adopt(self, claim: PartitionClaim) -> None:
        """Register a claim whose chunks a native loop will add. Thread: any."""
        self.native.adopt(claim)
