"""Planted faults that only schedules with batches or native chunks can reveal."""

from typing import Any

from tests.simulation.product import Product, Swap
from tests.support.queues import RUNS_NATIVE
from zkconsumer.streams import reader, stream
from zkconsumer.streams.batches import BatchPiece, BatchReader
from zkconsumer.streams.chunk_cursor import ChunkCursor
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.stream_cursors import StreamCursors

Message = MessageAndMetadata[Any, Any]


class ConsumesBatchesInHand(BatchReader[Any, Any]):
    """A reader that counts a batch as consumed on delivery."""

    def transfer(self, pieces: list[BatchPiece[Any, Any]]) -> list[Message]:
        """See ``BatchReader``."""
        messages = super().transfer(pieces)
        for claim in [piece.chunk.claim for piece in pieces if messages]:
            claim.consumed_offset = claim.delivered_offset
        return messages


class ForgetsWhereABatchEnds(BatchReader[Any, Any]):
    """A reader that drops the rest of the last chunk of a batch."""

    def transfer(self, pieces: list[BatchPiece[Any, Any]]) -> list[Message]:
        """See ``BatchReader``."""
        messages = super().transfer(pieces)
        self._handed_over_batch = None
        return messages


class ConsumesNativelyInHand(StreamCursors[Any, Any]):
    """Cursors that count a native message as consumed on delivery."""

    def _make_native(self) -> ChunkCursor[Any, Any]:
        self._consumes_delivered = True
        return super()._make_native()


_READERS = (ConsumesBatchesInHand, ForgetsWhereABatchEnds)
FAULTS_IN_STREAMS: dict[str, Product] = {
    function.__name__: Product(swaps=(Swap(stream, "BatchReader", function),))
    for function in _READERS
}
if RUNS_NATIVE:
    FAULTS_IN_STREAMS["ConsumesNativelyInHand"] = Product(
        swaps=(Swap(reader, "StreamCursors", ConsumesNativelyInHand),)
    )
