"""Several queues of one budget with random fetchers, streams and hand-overs count their bytes.

After every step no queue exceeds its share, but for a single record; the bytes that a queue counts
are those of its records; and a fetcher that was refused gets its callback. At the end everything
was delivered in order, and all counters are zero.
"""

from collections import deque
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.queues import each_queue, new_queue, queued_in, waiters_of
from tests.support.shares import examples
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.memory import records_bytes
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.queues import StreamQueue

pytestmark = pytest.mark.usefixtures(each_queue.__name__)

MANY = 6


@dataclass(eq=False)
class BoundedFetcher:
    """A fetcher: offers one chunk after the other to a queue, and waits when it is refused."""

    queue: StreamQueue
    claim: PartitionClaim
    todo: deque[Chunk]
    waits: bool = False

    def offer(self) -> None:
        """Try to offer the next chunk."""
        if not self.todo or self.waits:
            return
        if not self.claim.active:
            self.todo.clear()
        elif self.queue.offer(self.todo[0], self.on_capacity):
            self.todo.popleft()
        else:
            self.waits = True

    def on_capacity(self) -> None:
        """Try again at the next step."""
        self.waits = False


@dataclass(eq=False)
class ChunkReader:
    """A stream, with at most one current chunk."""

    queue: StreamQueue
    pending: Chunk | None = None
    received: dict[PartitionClaim, list[int]] = field(default_factory=dict)

    def turn(self) -> None:
        """Finish the current chunk, or take the next."""
        if self.pending is not None:
            done, self.pending = self.pending, None
            done.records = ()
            self.queue.release(done)
            return
        chunk = self.queue.head(0)
        if not isinstance(chunk, Chunk):
            return
        self.queue.remove()
        if chunk.claim.active:
            self.pending = chunk
            offsets = [record.offset for record in chunk.records]
            self.received.setdefault(chunk.claim, []).extend(offsets)
        else:
            self.queue.release(chunk)


class QueueBytesWorld:
    """A connector's queues with a fetcher and a stream each."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.budget = ByteBudget(rng.choice([1, 3_000, 20_000, 10**6]))
        queues = [new_queue(rng.choice([1, 2, 50]), self.budget) for _ in range(rng.randint(1, 4))]
        self.fetchers = [self.fetcher(queue) for queue in queues for _ in range(2)]
        self.readers = [ChunkReader(queue) for queue in queues]
        self.sent = {fetcher.claim: offsets_of(fetcher.todo) for fetcher in self.fetchers}

    def fetcher(self, queue: StreamQueue) -> BoundedFetcher:
        """Make a fetcher of one partition with a few chunks."""
        claim = PartitionClaim(TopicPartition("t", self.rng.randint(0, 99)), queue, 0)
        todo: deque[Chunk] = deque()
        offset = 0
        for _ in range(self.rng.randint(0, MANY)):
            sizes = [self.rng.choice([0, 10, 500, 5_000]) for _ in range(self.rng.randint(0, 9))]
            found = [Record(offset + n, None, bytes(size)) for n, size in enumerate(sizes)]
            end = offset + len(found)
            todo.append(Chunk(claim, offset, end, found, records_bytes(found)))
            offset = end
        return BoundedFetcher(queue, claim, todo)

    def step(self) -> None:
        """Let a random participant act."""
        kind = self.rng.random()
        if kind < 0.5:
            self.rng.choice(self.fetchers).offer()
        elif kind < 0.97:
            self.rng.choice(self.readers).turn()
        else:
            self.rng.choice(self.fetchers).claim.active = False
            for reader in self.readers:
                reader.queue.discard_inactive()

    def check(self) -> None:
        """Check what must always hold."""
        for reader in self.readers:
            queue = reader.queue
            queued = queued_in(queue)
            pending = [reader.pending] if reader.pending is not None else []
            there = [chunk for chunk in [*queued, *pending] if chunk.size_bytes]
            used = sum(records_bytes(chunk.records) for chunk in there)
            assert queue.used_bytes() == used
            alone = len(there) == 1 and len(there[0].records) == 1
            assert used <= self.budget.share_bytes or alone
            for fetcher in self.fetchers:
                if fetcher.queue is queue and fetcher.waits:
                    assert fetcher.on_capacity in waiters_of(queue)

    def settle(self) -> None:
        """Let all participants act until nothing is left to do: none may be stuck."""
        for _ in range(2_000):
            for fetcher in self.fetchers:
                fetcher.offer()
            for reader in self.readers:
                reader.turn()
            idle = all(
                reader.pending is None and reader.queue.head(0) is None for reader in self.readers
            )
            if idle and not any(fetcher.todo for fetcher in self.fetchers):
                return
        raise AssertionError("standstill")


def offsets_of(chunks: deque[Chunk]) -> list[int]:
    """Return all offsets, in order."""
    return [record.offset for chunk in chunks for record in chunk.records]


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_bytes_are_counted_limited_and_released(seed: int) -> None:
    """They are in whatever order fetchers, streams and hand-overs act."""
    world = QueueBytesWorld(Random(seed))
    for _ in range(60):
        world.step()
        world.check()
    world.settle()
    for fetcher in world.fetchers:
        reader = next(reader for reader in world.readers if reader.queue is fetcher.queue)
        received, sent = reader.received.get(fetcher.claim, []), world.sent[fetcher.claim]
        assert received == (sent if fetcher.claim.active else sent[: len(received)])
    assert [reader.queue.used_bytes() for reader in world.readers] == [0] * len(world.readers)
