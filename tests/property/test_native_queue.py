"""The native queue with random native loops, fetchers in Python, streams and hand-overs.

After every step its used bytes are within the share, unless a single message exceeds it. Producers
that found no capacity are called back. At the end every message was delivered once, in order.
"""

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunks import claim_of
from tests.support.native_chunks import native_queue, new_wakeup
from tests.support.queues import needs_native_engine
from tests.support.shares import examples
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.build import build_message_set, wrap_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.memory import records_bytes

if TYPE_CHECKING:
    from zkconsumer.native._core import Wakeup
    from zkconsumer.streams.queues import NativeChunkQueue

pytestmark = needs_native_engine


def set_of(rng: Random, records: list[Record]) -> bytes:
    """Make a record set of these records, at random in plain and compressed entries."""
    parts: list[bytes] = []
    at = 0
    while at < len(records):
        some = records[at : at + rng.randint(1, 8)]
        plain = build_message_set(some)
        packed = wrap_message_set(plain, offset=some[-1].offset, codec=Codec.GZIP)
        parts.append(packed if rng.random() < 0.4 else plain)
        at += len(some)
    return b"".join(parts)


@dataclass(eq=False)
class NativeLoop:
    """A native loop: puts one set after the other, and waits for its wakeup when full."""

    queue: "NativeChunkQueue"
    claim: PartitionClaim
    todo: deque[tuple[bytes, int]]
    wakeup: "Wakeup" = field(default_factory=new_wakeup)
    waits: bool = False

    def put(self) -> None:
        """Try to put the next set, or the rest of it."""
        if self.waits and self.wakeup.wait():
            self.waits = False
        if self.waits or not self.todo:
            return
        data, at = self.todo.popleft()
        left = self.queue.native.put_set(self.claim, data, at, self.wakeup)
        if left is not None:
            self.todo.appendleft((data, left))
            self.waits = True


@dataclass(eq=False)
class OfferingFetcher:
    """A fetcher in Python: offers chunks one by one, and waits for the callback when it is full."""

    queue: "NativeChunkQueue"
    claim: PartitionClaim
    todo: deque[Chunk]
    waits: bool = False

    def put(self) -> None:
        """Try to offer the next chunk."""
        if self.waits or not self.todo:
            return
        if self.queue.offer(self.todo[0], self.on_capacity):
            self.todo.popleft()
        else:
            self.waits = True

    def on_capacity(self) -> None:
        """Try again at the next step."""
        self.waits = False


class NativeQueueWorld:
    """One queue, its producers and its stream."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.share_bytes = rng.choice([1, 2_000, 30_000, 10**6])
        self.queue = native_queue(rng.choice([1, 2, 50]), self.share_bytes)
        self.sent: dict[PartitionClaim, list[Record]] = {}
        self.received: dict[PartitionClaim, list[Record]] = {}
        self.pending: Chunk | None = None
        self.producers: list[NativeLoop | OfferingFetcher] = [
            self.loop(),
            self.loop(),
            self.fetcher(),
        ]

    def batches(self) -> tuple[PartitionClaim, list[list[Record]]]:
        """Make a claim, and the batches of records that its producer will deliver."""
        rng = self.rng
        claim = claim_of(TopicPartition("t", len(self.sent)), committed=0)
        batches: list[list[Record]] = []
        offset = 0
        for _ in range(rng.randint(0, 5)):
            sizes = [rng.choice([0, 10, 90, 3_000]) for _ in range(rng.randint(0, 40))]
            batch = []
            for size in sizes:
                key = None if size == 10 else rng.randbytes(3)
                batch.append(Record(offset, key, rng.randbytes(size)))
                offset += rng.choice([1, 1, 4])
            batches.append(batch)
        self.sent[claim] = [record for batch in batches for record in batch]
        self.received[claim] = []
        return claim, batches

    def loop(self) -> NativeLoop:
        """Make a native loop."""
        claim, batches = self.batches()
        sets = deque((set_of(self.rng, batch), batch[0].offset) for batch in batches if batch)
        return NativeLoop(self.queue, claim, sets)

    def fetcher(self) -> OfferingFetcher:
        """Make a fetcher in Python."""
        claim, batches = self.batches()
        todo: deque[Chunk] = deque()
        for batch in batches:
            if batch:
                behind = batch[-1].offset + 1
                todo.append(Chunk(claim, batch[0].offset, behind, batch, records_bytes(batch)))
        return OfferingFetcher(self.queue, claim, todo)

    def read(self) -> None:
        """Finish the stream's current chunk, or take the next one."""
        if self.pending is not None:
            done, self.pending = self.pending, None
            done.records = ()
            self.queue.release(done)
            return
        chunk = self.queue.head(0)
        if not isinstance(chunk, Chunk):
            return
        self.queue.remove()
        self.pending = chunk
        if chunk.claim.active:
            self.received[chunk.claim].extend(chunk.records)

    def step(self) -> None:
        """Let a random participant act."""
        kind = self.rng.random()
        if kind < 0.5:
            self.rng.choice(self.producers).put()
        elif kind < 0.97:
            self.read()
        else:
            loser = self.rng.choice(self.producers)
            loser.claim.active = False
            self.queue.discard_inactive()
            loser.todo.clear()

    def check(self) -> None:
        """Check what must always hold."""
        used_bytes = self.queue.used_bytes()
        if used_bytes > self.share_bytes:
            seen = [item for item in self.queue.native.named_items() if isinstance(item, Chunk)]
            here = [
                chunk for chunk in [*seen, self.pending] if chunk is not None and chunk.size_bytes
            ]
            assert self.queue.chunk_count() + (self.pending is not None) <= 2
            assert all(len(chunk.records) <= 1 for chunk in here)

    def settle(self) -> None:
        """Let all participants act until nothing is left to do: none may be stuck."""
        for _ in range(3_000):
            for producer in self.producers:
                producer.put()
            self.read()
            is_idle = self.pending is None and self.queue.head(0) is None
            if is_idle and not any(producer.todo for producer in self.producers):
                return
        raise AssertionError("standstill")


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32))
def test_everything_is_delivered_within_limits_and_in_order(seed: int) -> None:
    """It is in whatever order native loops, fetchers, the stream and hand-overs act."""
    world = NativeQueueWorld(Random(seed))
    for _ in range(80):
        world.step()
        world.check()
    world.settle()
    for producer in world.producers:
        received, sent = world.received[producer.claim], world.sent[producer.claim]
        assert received == (sent if producer.claim.active else sent[: len(received)])
    assert (world.queue.used_bytes(), world.queue.chunk_count()) == (0, 0)
    assert world.queue.native.named_items() == []
