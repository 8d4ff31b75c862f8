"""The chunk queue, on real threads (the unit tests of the same name hold the rest)."""

import sys
import threading
from collections.abc import Callable

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, ignore
from tests.support.queues import each_queue, new_queue
from tests.support.waiting import wait_until
from zkconsumer.fetch.claim import Chunk
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.queues import StreamQueue

pytestmark = pytest.mark.usefixtures(each_queue.__name__)


def test_a_waiting_stream_gets_what_comes() -> None:
    """A take without a time-out waits for a chunk."""
    queue, claim = new_queue(1), claim_of()
    taken: list[object] = []
    scope = ThreadScope("queue")
    scope.spawn("stream", lambda: taken.append(queue.take(None)), stop=queue.close)
    chunk = chunk_of(claim, [0])
    queue.offer(chunk, ignore)
    assert wait_until(lambda: taken, what="the chunk") == [chunk]
    assert scope.close(5_000) == []


def test_two_threads_that_offer_lose_and_repeat_nothing() -> None:
    """Two fetchers that wait for capacity in a tiny queue deliver all chunks."""
    queue, count = new_queue(2), 300
    old_interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    scope = ThreadScope("queue")
    try:
        claims = (claim_of(), claim_of(T1))
        for claim in claims:
            scope.spawn(
                "fetcher",
                producer(queue, [chunk_of(claim, [n]) for n in range(count)]),
                stop=ignore,
            )
        seen: list[Chunk] = []
        while len(seen) < 2 * count:
            item = queue.take(10_000)
            assert isinstance(item, Chunk), f"stalled after {len(seen)} chunks"
            seen.append(item)
    finally:
        sys.setswitchinterval(old_interval)
    assert scope.close(5_000) == []
    for claim in claims:
        offsets = [chunk.records[0].offset for chunk in seen if chunk.claim is claim]
        assert offsets == list(range(count))


def producer(queue: StreamQueue, chunks: list[Chunk]) -> Callable[[], None]:
    """Behave as a fetcher: offer chunks, and wait for the callback when the queue is full."""

    def run() -> None:
        capacity = threading.Event()
        for chunk in chunks:
            while not queue.offer(chunk, capacity.set):
                assert capacity.wait(10), "no callback for capacity"
                capacity.clear()

    return run
