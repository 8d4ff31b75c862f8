"""Streams in event loops: reading, waiting, and checking that the loop is not blocked."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from tests.support.chunks import ignore
from tests.support.queues import is_listened_to, new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

T = TypeVar("T")
Stream = KafkaStream[bytes, bytes]


def stream_of(*chunks: Chunk, timeout_ms: int = -1) -> tuple[Stream, StreamQueue]:
    """Return a stream with these chunks, and its queue."""
    queue = new_queue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return KafkaStream(queue, clock=SystemClock(), timeout_ms=timeout_ms), queue


async def collect(stream: Stream, into: list[int]) -> None:
    """Read a stream to its end."""
    async for message in stream:
        into += [message.offset]


async def until(probe: Callable[[], object], what: str) -> None:
    """Let the loop run until ``probe`` returns something true."""
    deadline_s = asyncio.get_running_loop().time() + 20
    while not probe():
        assert asyncio.get_running_loop().time() < deadline_s, f"waited for {what}"
        await asyncio.sleep(0.001)


async def until_waiting(queue: StreamQueue) -> None:
    """Let the loop run until a task waits for this queue to change."""
    await until(lambda: is_listened_to(queue), "a task that waits")


@asynccontextmanager
async def ticking() -> AsyncIterator[list[float]]:
    """Run a task that yields all the time; yield the list of gaps between its turns, s."""
    loop = asyncio.get_running_loop()
    gaps: list[float] = []

    async def tick() -> None:
        before = loop.time()
        while True:
            await asyncio.sleep(0)
            gaps.append(loop.time() - before)
            before = loop.time()

    task = asyncio.create_task(tick())
    try:
        yield gaps
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def run(main: Callable[[], Coroutine[object, object, T]]) -> T:
    """Run a coroutine in an event loop of its own."""
    return asyncio.run(main())
