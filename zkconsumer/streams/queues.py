"""The queue of a stream, in the engine of this process."""

from collections.abc import Callable
from typing import Protocol

from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.claim import Chunk, ChunkSink
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue, Item


class StreamQueue(ChunkSink, Protocol):
    """A ``ChunkQueue`` as its stream and the control thread use it; see there for each method."""

    def fail(self, error: ZkConsumerError) -> None:
        """See ``ChunkQueue``."""
        ...

    def close(self) -> None:
        """See ``ChunkQueue``."""
        ...

    def wake(self) -> None:
        """See ``ChunkQueue``."""
        ...

    def listen(self, on_change: Callable[[], None] | None) -> None:
        """See ``ChunkQueue``."""
        ...

    def take(self, timeout_ms: int | None) -> Item | None:
        """See ``ChunkQueue``."""
        ...

    def head(self, timeout_ms: int | None) -> Item | None:
        """See ``ChunkQueue``."""
        ...

    def pause(self, timeout_ms: int | None) -> None:
        """See ``ChunkQueue``."""
        ...

    def remove(self) -> None:
        """See ``ChunkQueue``."""
        ...

    def done_with(self, chunk: Chunk) -> None:
        """See ``ChunkQueue``."""
        ...

    def discard_inactive(self) -> None:
        """See ``ChunkQueue``."""
        ...

    def chunk_count(self) -> int:
        """See ``ChunkQueue``."""
        ...

    def used_bytes(self) -> int:
        """See ``ChunkQueue``."""
        ...


def new_chunk_queue(max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
    """Make an empty queue; see ``ChunkQueue`` for the arguments."""
    if ENGINE is Engine.NATIVE:
        # The native core may be missing or disabled.
        from zkconsumer.streams.native_queue import NativeChunkQueue  # noqa: PLC0415

        return NativeChunkQueue(max_chunks, budget)
    return ChunkQueue(max_chunks, budget)
