"""How many messages a stream reports as delivered, by topic."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.queues import new_queue
from tests.support.shares import examples
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk
from zkconsumer.model import TopicPartition
from zkconsumer.streams.batches import BatchPiece
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]
OTHER = TopicPartition("other", 0)


def stream_of(*chunks: Chunk) -> tuple[Stream, StreamQueue]:
    """Return a stream over these chunks, and its queue."""
    queue = new_queue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    return Stream(queue, clock=SystemClock()), queue


def test_delivered_messages_are_counted_by_topic() -> None:
    """Only delivered messages count: neither queued ones, nor the rest of the current chunk."""
    one, two = claim_of(T0, committed=0), claim_of(OTHER, committed=5)
    stream, _ = stream_of(chunk_of(one, [0, 1, 2]), chunk_of(two, [5, 6]))
    assert stream.delivered_counts() == {}
    seen = []
    for _ in range(5):
        next(stream)
        seen.append(stream.delivered_counts())
    assert seen[:3] == [{"t": 1}, {"t": 2}, {"t": 3}]
    assert seen[3:] == [{"t": 3, "other": 1}, {"t": 3, "other": 2}]


def test_batches_count_what_they_hold() -> None:
    """A batch counts its messages, also where it ends within a chunk."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, _ = stream_of(
        chunk_of(one, [0, 1]), chunk_of(two, [7]), chunk_of(one, [2, 3, 4]), chunk_of(two, [8])
    )
    batches = stream.batches(max_records=4, timeout_ms=0)
    assert len(next(batches)) == 4
    assert stream.delivered_counts() == {"t": 4}
    assert len(next(batches)) == 3
    assert stream.delivered_counts() == {"t": 7}


def test_the_rest_of_a_chunk_that_was_given_up_does_not_count() -> None:
    """The rest of a chunk whose claim was given up does not count."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, _ = stream_of(chunk_of(one, [0, 1, 2]), chunk_of(two, [7]))
    next(stream)
    one.active = False
    assert next(stream).partition == 1
    assert stream.delivered_counts() == {"t": 2}


def gathered(stream: Stream, count: int) -> list[BatchPiece[bytes, bytes]]:
    """Return a batch of this many chunks that was not delivered so far."""
    pieces: list[BatchPiece[bytes, bytes]] = []
    while not pieces:
        found = stream._reader.first_piece(100)
        pieces += [found] if isinstance(found, BatchPiece) else []
    stream._reader.add_pieces(pieces, 100, 1 << 20)
    assert len(pieces) == count
    return pieces


def test_a_batch_that_is_given_up_before_its_delivery_does_not_count() -> None:
    """Chunks of a batch whose claims are given up before its delivery do not count."""
    one, two, three = (claim_of(TopicPartition("t", number), committed=0) for number in range(3))
    stream, queue = stream_of(chunk_of(one, [0, 1]), chunk_of(two, [0]), chunk_of(three, [0, 1]))
    pieces = gathered(stream, 3)
    for claim in (one, two, three):
        claim.active = False
    assert stream._reader.transfer(pieces) == []
    queue.close()
    assert list(stream) == []
    assert stream.delivered_counts() == {"t": 0}


def test_a_chunk_of_a_batch_that_is_given_up_does_not_count() -> None:
    """If one claim of a batch is given up before its delivery, only the others count."""
    one, two, three = (claim_of(TopicPartition("t", number), committed=0) for number in range(3))
    stream, queue = stream_of(chunk_of(one, [0, 1]), chunk_of(two, [0]), chunk_of(three, [0, 1]))
    pieces = gathered(stream, 3)
    two.active = False
    assert len(stream._reader.transfer(pieces)) == 4
    queue.close()
    assert list(stream) == []
    assert stream.delivered_counts() == {"t": 4}


def test_what_a_batch_left_of_a_chunk_that_is_given_up_does_not_count() -> None:
    """What a full batch left of a chunk does not count once its claim is given up."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, _ = stream_of(chunk_of(one, [0, 1]), chunk_of(two, [7, 8, 9]), chunk_of(one, [2]))
    batches = stream.batches(max_records=3, timeout_ms=0)
    assert len(next(batches)) == 3
    two.active = False
    assert [message.offset for message in next(batches)] == [2]
    assert stream.delivered_counts() == {"t": 4}


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.integers(1, 3), max_size=4), min_size=1, max_size=6),
    st.lists(st.integers(0, 4), max_size=12),
)
def test_the_count_is_what_the_caller_got(gaps: list[list[int]], takes: list[int]) -> None:
    """Between chunks the count is what the caller got, in messages or batches, with any gaps."""
    claim, offset, chunks = claim_of(T0, committed=0), 0, []
    for steps in gaps:
        offsets = []
        for step in steps:
            offset += step
            offsets.append(offset)
        chunks.append(chunk_of(claim, offsets, fetched_at=offsets[0] if offsets else offset + 1))
    total = sum(map(len, gaps))
    stream, queue = stream_of(*chunks)
    queue.close()
    got = 0
    for take in takes:
        if take:
            got += len(next(stream.batches(max_records=take, timeout_ms=0), []))
        else:
            got += sum(1 for _ in zip(range(1), stream, strict=False))
    rest = sum(1 for _ in stream)
    assert got + rest == total
    assert stream.delivered_counts().get("t", 0) == total
