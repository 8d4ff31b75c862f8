"""Several queues of one budget under random fetchers, streams and hand-overs: the counters hold.

After every step: no queue is beyond its share but for a single record, what a queue says it uses is
what is really there, and nobody was refused who is not called. At the end everything was delivered,
in order, and nothing is counted any more.
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
from zkconsumer.fetch.sizes import records_bytes
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.queues import StreamQueue

pytestmark = pytest.mark.usefixtures(each_queue.__name__)

MANY = 6


@dataclass(eq=False)
class BoundedFetcher:
    """Offers one chunk after the other to a queue, and waits when it is refused."""

    queue: StreamQueue
    claim: PartitionClaim
    todo: deque[Chunk]
    waits: bool = False

    def offer(self) -> None:
        """Try to get the next chunk in."""
        if not self.todo or self.waits:
            return
        if not self.claim.active:
            self.todo.clear()
        elif self.queue.offer(self.todo[0], self.room):
            self.todo.popleft()
        else:
            self.waits = True

    def room(self) -> None:
        """There may be room."""
        self.waits = False


@dataclass(eq=False)
class ChunkReader:
    """A stream: at most one chunk in hand."""

    queue: StreamQueue
    pending: Chunk | None = None
    got: dict[PartitionClaim, list[int]] = field(default_factory=dict)

    def turn(self) -> None:
        """Be done with what is in hand, or take the next."""
        if self.pending is not None:
            done, self.pending = self.pending, None
            done.records = ()
            self.queue.done_with(done)
            return
        chunk = self.queue.head(0)
        if not isinstance(chunk, Chunk):
            return
        self.queue.remove()
        if chunk.claim.active:
            self.pending = chunk
            offsets = [record.offset for record in chunk.records]
            self.got.setdefault(chunk.claim, []).extend(offsets)
        else:
            self.queue.done_with(chunk)


class QueueBytesWorld:
    """A connector's queues with a fetcher and a stream each."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.budget = ByteBudget(rng.choice([1, 3_000, 20_000, 10**6]))
        queues = [new_queue(rng.choice([1, 2, 50]), self.budget) for _ in range(rng.randint(1, 4))]
        self.fetchers = [self.fetcher(queue) for queue in queues for _ in range(2)]
        self.readers = [ChunkReader(queue) for queue in queues]
        self.sent = {fetcher.claim: sum_of(fetcher.todo) for fetcher in self.fetchers}

    def fetcher(self, queue: StreamQueue) -> BoundedFetcher:
        """A partition with a few chunks to come."""
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
        """Somebody does something."""
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
        """What always holds."""
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
                    assert fetcher.room in waiters_of(queue)

    def settle(self) -> None:
        """Everybody works until nothing is left to do: nobody may be stuck."""
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


def sum_of(chunks: deque[Chunk]) -> list[int]:
    """All offsets, in order."""
    return [record.offset for chunk in chunks for record in chunk.records]


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_bytes_are_counted_bounded_and_given_back(seed: int) -> None:
    """Whatever the order in which fetchers, streams and hand-overs come."""
    world = QueueBytesWorld(Random(seed))
    for _ in range(60):
        world.step()
        world.check()
    world.settle()
    for fetcher in world.fetchers:
        reader = next(reader for reader in world.readers if reader.queue is fetcher.queue)
        got, sent = reader.got.get(fetcher.claim, []), world.sent[fetcher.claim]
        assert got == (sent if fetcher.claim.active else sent[: len(got)])
    assert [reader.queue.used_bytes() for reader in world.readers] == [0] * len(world.readers)
