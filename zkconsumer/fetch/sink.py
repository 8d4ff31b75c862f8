"""The seam between a broker's fetch loop and the queues behind it.

Everything from building a request to a queued chunk may be taken over by a native loop; what it
must hand over is a ``Chunk``, and what it must ask is ``ChunkSink.offer``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import Record


@dataclass(slots=True, eq=False)
class Chunk:
    """What one fetch of one partition brought: checked, decompressed, in log order.

    Attributes:
        claim: the ownership under which it was fetched.
        fetch_offset: the offset that was asked for; a larger one than the stream stands at means
            that the position was reset in between.
        next_offset: where the log goes on behind this chunk, records or not.
        records: none of them below ``fetch_offset``; emptied when the claim is given up.
        size_bytes: the bytes that the records take, after decompression.
        error: raised by the stream behind the records; nothing follows from this claim.
    """

    claim: PartitionClaim
    fetch_offset: int
    next_offset: int
    records: Sequence[Record]
    size_bytes: int
    error: ZkConsumerError | None = None


class ChunkSink(Protocol):
    """A bounded queue of chunks, as its producers see it."""

    def offer(self, chunk: Chunk, on_room: Callable[[], None]) -> bool:
        """Queue the chunk, or return False at once where the queue is full.

        After False ``on_room`` is called once as soon as there may be room. It may be called from
        any thread and must only put into a mailbox. Thread: any.
        """
        ...
