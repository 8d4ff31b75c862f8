"""Runs one suite with both queues: tests that use ``each_queue`` run once with each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pytest

from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue

if TYPE_CHECKING:
    from zkconsumer.native import _core

RUNS_NATIVE = ENGINE is Engine.NATIVE
needs_native_engine = pytest.mark.skipif(not RUNS_NATIVE, reason="this process runs in pure Python")

Make: TypeAlias = Callable[[int, ByteBudget | None], StreamQueue]
_make: Make = ChunkQueue


@pytest.fixture(
    scope="module", params=["python", pytest.param("native", marks=needs_native_engine)]
)
def each_queue(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let ``new_queue`` make each kind in turn."""
    with making_queues(native=request.param == "native"):
        yield


@contextmanager
def making_queues(*, native: bool) -> Iterator[None]:
    """Let ``new_queue`` make this kind."""
    global _make  # noqa: PLW0603 - its one job
    _make = new_chunk_queue if native else ChunkQueue
    yield
    _make = ChunkQueue


def new_queue(max_chunks: int, budget: ByteBudget | None = None) -> StreamQueue:
    """Return a queue of the current kind."""
    return _make(max_chunks, budget)


def queued_in(queue: StreamQueue) -> list[Chunk]:
    """Return the Python chunks in a queue, in order."""
    return [item for item in queue._store.named_items() if isinstance(item, Chunk)]


def item_count(queue: StreamQueue) -> int:
    """Return the number of Python items of any kind in a queue."""
    return len(queue._store.named_items())


def waiters_of(queue: StreamQueue) -> list[Callable[[], None]]:
    """Return the callbacks that wait for capacity."""
    return list(queue._store.waiters)


def native_of(queue: StreamQueue) -> "_core.Queue":
    """Return the C part of a native queue."""
    # The native core may be missing, or disabled.
    from zkconsumer.streams.queues import NativeChunkQueue  # noqa: PLC0415

    assert isinstance(queue, NativeChunkQueue)
    return queue.native


def is_listened_to(queue: StreamQueue) -> bool:
    """Whether a callback is registered for every put."""
    return queue._on_change is not None
