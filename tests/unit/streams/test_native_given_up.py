"""Partitions that are given up at the very moment at which a stream takes their native chunks."""

import pytest

from tests.support.chunks import T0, T1, claim_of
from tests.support.manual_clock import ManualClock
from tests.support.native_chunks import cursor, native_queue, put, set_of
from tests.support.queues import needs_native_engine
from zkconsumer.fetch.claim import Chunk
from zkconsumer.streams.chunk_cursor import ChunkCursor
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.streams.stream_cursors import StreamCursors

pytestmark = needs_native_engine


def test_a_claim_may_be_forgotten_while_a_dead_chunk_in_front_is_dropped() -> None:
    """While a dead chunk is dropped, a notified producer may give up the next claim, too."""
    queue, dead, alive = native_queue(), claim_of(), claim_of()
    put(queue, dead, [0])
    put(queue, alive, [1])
    dead.active = False
    called: list[bool] = []

    def give_up() -> None:
        called.append(True)
        alive.active = False
        for _ in range(1_000):
            queue.native.adopt(claim_of())

    queue.native.wait_for_capacity(give_up)
    item = queue.head(0)
    assert called
    assert item is None or (isinstance(item, Chunk) and item.claim is alive)


def test_a_chunk_that_is_emptied_while_it_is_taken_yields_nothing() -> None:
    """A chunk that is emptied while the native cursor takes it yields nothing."""
    queue, claim = native_queue(), claim_of(T0)
    assert queue.native.put_set(claim, set_of(range(3)), 0) is None
    chunk = queue.head(0)
    assert isinstance(chunk, Chunk)
    claim.active = False
    queue.discard_inactive()
    taken = cursor()
    taken.chunk = chunk
    assert taken.is_exhausted
    assert list(taken) == []


def test_a_chunk_may_be_emptied_while_a_batch_takes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread that gives a claim up may have found the chunk queued, and empty it much later."""
    queue, lost, kept = native_queue(), claim_of(T0), claim_of(T1)
    put(queue, kept, [0, 1])
    put(queue, lost, [0, 1])
    put(queue, kept, [2])
    stream: KafkaStream[bytes, bytes] = KafkaStream(queue, clock=ManualClock(), timeout_ms=0)
    batches = stream.batches(max_records=3, timeout_ms=0)
    assert len(next(batches)) == 3
    choose = StreamCursors.of

    def discard(cursors: StreamCursors[bytes, bytes], chunk: Chunk) -> ChunkCursor[bytes, bytes]:
        chosen = choose(cursors, chunk)
        if chunk.claim is lost:
            lost.active = False
            chunk.records = ()
        return chosen

    monkeypatch.setattr(StreamCursors, "of", discard)
    assert [(message.partition, message.offset) for message in next(batches)] == [(1, 2)]
