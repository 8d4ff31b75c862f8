"""Batches of messages: what they contain, when they are consumed, and where they end early."""

import asyncio
import logging
import threading

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, each_chunk, ignore
from tests.support.forks import in_forked_child
from tests.support.loops import until_waiting
from tests.support.manual_clock import ManualClock
from tests.support.queues import new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.errors import (
    ConsumerForked,
    ConsumerTimeout,
    PartitionFailed,
    RebalanceFailed,
    StreamInUse,
)
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.membership.zookeeper.threads.commits import delivered_offset
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.poison import PoisonMode, PoisonPolicy
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.streams.stream_queue import Item

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]
Batch = list[MessageAndMetadata[bytes, bytes]]


def stream_of(
    *chunks: Chunk,
    timeout_ms: int = -1,
    delivery: Delivery = Delivery.AT_LEAST_ONCE,
    gate: DeliveryGate | None = None,
) -> tuple[Stream, StreamQueue]:
    """Make a stream over these chunks that skips poison, and commits ahead if its mode does."""
    queue = new_queue(100)
    for chunk in chunks:
        assert queue.offer(chunk, ignore)
    stream = Stream(
        queue,
        clock=SystemClock(),
        timeout_ms=timeout_ms,
        delivery=delivery,
        commit_ahead=lambda _claim, _offset: True,
        gate=gate,
        poison=PoisonPolicy(PoisonMode.SKIP),
    )
    return stream, queue


def places(batch: Batch) -> list[tuple[int, int]]:
    """Return partition and offset of each message."""
    return [(message.partition, message.offset) for message in batch]


# --- the messages of a batch ---------------------------------------------------------------------


def test_a_batch_spans_chunks_and_partitions_until_it_is_full() -> None:
    """Messages come in the order of the queue, and the next batch has the rest of a chunk."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, queue = stream_of(
        chunk_of(one, [0, 1]), chunk_of(two, [7]), chunk_of(one, [2, 3, 4]), chunk_of(two, [8])
    )
    queue.close()
    batches = [places(batch) for batch in stream.batches(max_records=4)]
    assert batches == [[(0, 0), (0, 1), (1, 7), (0, 2)], [(0, 3), (0, 4), (1, 8)]]
    assert (one.consumed_offset, two.consumed_offset) == (5, 9)
    assert queue.used_bytes() == 0


def test_messages_in_a_batch_are_as_single_ones() -> None:
    """They have key, value, partition and offset, and are decoded on access."""
    queue = new_queue(10)
    queue.offer(chunk_of(claim_of(T1), [7]), ignore)
    stream: KafkaStream[bytes, str] = KafkaStream(
        queue, clock=ManualClock(), value_decoder=bytes.decode
    )
    ((message,),) = [next(stream.batches(max_records=1))]
    assert isinstance(message, MessageAndMetadata)
    assert (message.topic, message.partition, message.offset) == ("t", 1, 7)
    assert (message.key, message.value, message.raw_value) == (
        b"k7",
        "value 7" * 3,
        b"value 7" * 3,
    )


def test_a_batch_is_limited_in_bytes() -> None:
    """A batch of large messages has fewer of them."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(*[chunk_of(claim, [offset]) for offset in range(4)])
    assert [len(next(stream.batches(max_bytes=1, timeout_ms=0))) for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("arguments", [{"max_records": 0}, {"timeout_ms": -1}, {"max_bytes": 0}])
def test_invalid_arguments_are_refused(arguments: dict[str, int]) -> None:
    """They are at once, not at the first batch."""
    stream, _ = stream_of()
    with pytest.raises(ValueError, match="can't make batches of"):
        stream.batches(**arguments)


# --- waiting -------------------------------------------------------------------------------------


def test_a_batch_that_is_not_full_waits_for_its_time_out() -> None:
    """Messages that come meanwhile are in it."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    timer = threading.Timer(0.02, lambda: queue.offer(chunk_of(claim, [1]), ignore))
    timer.start()
    assert places(next(stream.batches(timeout_ms=150))) == [(0, 0), (0, 1)]
    timer.join()


def test_a_full_batch_does_not_wait() -> None:
    """It comes at once, however long its time-out."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(chunk_of(claim, [0, 1]))
    assert len(next(stream.batches(max_records=2, timeout_ms=10**6))) == 2


def test_an_empty_batch_returns_control_to_the_caller() -> None:
    """It does after ``timeout_ms``; requesting it has consumed the batch before."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    batches = stream.batches(timeout_ms=0)
    assert [len(next(batches)) for _ in range(3)] == [1, 0, 0]
    assert claim.consumed_offset == 1
    queue.offer(chunk_of(claim, [1]), ignore)
    assert places(next(batches)) == [(0, 1)]


def test_the_stream_times_out_over_empty_batches() -> None:
    """``consumer.timeout.ms`` counts from the last message, and again from each time-out."""
    stream, _ = stream_of(timeout_ms=60)
    batches = stream.batches(timeout_ms=20)
    for _ in range(2):
        empty: list[Batch] = []
        with pytest.raises(ConsumerTimeout, match="60 ms"):
            empty.extend(batches)
        assert 1 <= len(empty) <= 3
        assert not any(empty)


# --- consumed, delivered, committed --------------------------------------------------------------


@pytest.mark.parametrize("delivery", Delivery)
def test_a_batch_is_consumed_when_the_next_is_requested(delivery: Delivery) -> None:
    """All its partitions are; in modes that count delivered messages, it is at delivery."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, _ = stream_of(
        chunk_of(one, [0, 1], next_offset=3),
        chunk_of(two, [7, 8]),
        chunk_of(one, [3, 4]),
        delivery=delivery,
    )
    batches = stream.batches(max_records=5, timeout_ms=0)
    first_batch = places(next(batches))
    if delivery.commits_ahead:
        assert first_batch == [(0, 0), (0, 1)]
        assert (one.delivered_offset, one.consumed_offset) == (2, 2)
        return
    assert first_batch == [(0, 0), (0, 1), (1, 7), (1, 8), (0, 3)]
    assert (one.delivered_offset, two.delivered_offset) == (4, 9)
    expected = (4, 9) if delivery.consumes_delivered else (0, 7)
    consumed = one.consumed_offset, two.consumed_offset
    assert consumed == expected
    assert (delivered_offset(one), delivered_offset(two)) == (4, 9)
    assert places(next(batches)) == [(0, 4)]
    assert two.consumed_offset == 9
    assert one.consumed_offset == (5 if delivery.consumes_delivered else 4)
    assert next(batches) == []
    assert (one.consumed_offset, one.delivered_offset) == (5, 5)


def test_at_most_once_commits_a_chunk_once_all_before_it_was_delivered() -> None:
    """So a crash loses the rest of one chunk of each partition, as with single messages."""
    claim, committed = claim_of(committed=0), list[int]()
    queue = new_queue(10)

    def commit(_claim: PartitionClaim, offset: int) -> bool:
        committed.append(offset)
        return True

    for offsets in ([0, 1], [2], [3, 4]):
        queue.offer(chunk_of(claim, offsets), ignore)
    stream = Stream(queue, clock=SystemClock(), delivery=Delivery.AT_MOST_ONCE, commit_ahead=commit)
    batches, seen = stream.batches(timeout_ms=0), []
    for _ in range(3):
        batch = next(batches)
        seen.append((len(batch), committed[-1]))
    assert seen == [(2, 2), (1, 3), (2, 5)]
    assert committed == [2, 3, 5]


def test_single_messages_and_batches_share_one_position() -> None:
    """They do within a chunk, after a batch of several chunks, and with old iterators."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=7)
    stream, _ = stream_of(
        chunk_of(one, [0, 1, 2]), chunk_of(two, [7, 8, 9]), chunk_of(one, [3, 4, 5])
    )
    reading, batches = iter(stream), stream.batches(max_records=4, timeout_ms=0)
    received = [(0, next(reading).offset)]
    received += places(next(batches))
    assert (one.consumed_offset, two.consumed_offset) == (1, 7)
    received += [(1, next(reading).offset)]
    assert (one.consumed_offset, two.consumed_offset) == (3, 9)
    received += places(next(batches))
    assert two.consumed_offset == 10
    assert received == [(0, 0), (0, 1), (0, 2), (1, 7), (1, 8), (1, 9), (0, 3), (0, 4), (0, 5)]


# --- ends ----------------------------------------------------------------------------------------


def test_a_batch_ends_before_an_unreadable_record() -> None:
    """The next batch raises the error, and then come other messages."""
    one, two = claim_of(T0, committed=0), claim_of(T1, committed=9)
    stream, queue = stream_of(
        chunk_of(one, [0]),
        chunk_of(one, [1], error=PartitionFailed(T0, 2, "CRC")),
        chunk_of(two, [9]),
    )
    batches = stream.batches(timeout_ms=0)
    assert places(next(batches)) == [(0, 0), (0, 1)]
    assert one.consumed_offset == 0
    with pytest.raises(PartitionFailed):
        next(batches)
    assert one.consumed_offset == 2
    assert places(next(batches)) == [(1, 9)]
    assert next(batches) == []
    assert queue.used_bytes() == 0


def test_poison_is_skipped_once_the_messages_before_it_are_consumed() -> None:
    """It is not while the batch before it is still being processed."""
    claim = claim_of(committed=0)
    poison = Poison(T0, 1, 4, PartitionFailed(T0, 1, "CRC"))
    stream, _ = stream_of(chunk_of(claim, [0], next_offset=4, poison=poison), chunk_of(claim, [4]))
    batches = stream.batches(timeout_ms=0)
    assert places(next(batches)) == [(0, 0)]
    assert claim.delivered_offset == 1
    assert places(next(batches)) == [(0, 4)]
    assert (claim.consumed_offset, claim.delivered_offset) == (4, 5)


def test_a_failed_rebalance_and_the_end_come_after_queued_messages() -> None:
    """Both end a batch early, and the end repeats."""
    claim = claim_of(committed=0)
    stream, queue = stream_of(chunk_of(claim, [0]))
    queue.fail(RebalanceFailed("any"))
    queue.offer(chunk_of(claim, [1]), ignore)
    queue.close()
    batches = stream.batches(timeout_ms=10**6)
    assert places(next(batches)) == [(0, 0)]
    with pytest.raises(RebalanceFailed):
        next(batches)
    assert places(next(batches)) == [(0, 1)]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(batches)
    assert claim.consumed_offset == 2


# --- claims that are given up, and pauses --------------------------------------------------------


def test_a_batch_has_no_messages_of_a_claim_that_was_given_up() -> None:
    """Queued chunks are dropped, and so is the rest of a chunk that was begun."""
    lost, kept = claim_of(T0, committed=0), claim_of(T1, committed=5)
    stream, queue = stream_of(chunk_of(lost, [0, 1, 2]), chunk_of(lost, [3]), chunk_of(kept, [5]))
    batches = stream.batches(max_records=2, timeout_ms=0)
    assert len(next(batches)) == 2
    lost.active = False
    queue.offer(chunk_of(lost, [4]), ignore)
    assert places(next(batches)) == [(1, 5)]
    assert next(batches) == []
    assert (lost.delivered_offset, lost.consumed_offset, kept.consumed_offset) == (2, 2, 6)


class Revoking(ChunkQueue):
    """A queue whose claim is given up once its stream waits for more."""

    def __init__(self, claim: PartitionClaim) -> None:
        super().__init__(10)
        self.claim = claim

    def head(self, timeout_ms: int | None) -> Item | None:
        """See ``ChunkQueue``."""
        if timeout_ms:
            self.claim.active = False
        return super().head(timeout_ms)


def test_messages_given_up_while_a_batch_waits_are_left_out() -> None:
    """They were gathered, but not delivered."""
    lost, kept = claim_of(T0, committed=0), claim_of(T1, committed=5)
    queue = Revoking(lost)
    for chunk in (chunk_of(lost, [0]), chunk_of(kept, [5, 6]), chunk_of(lost, [1])):
        queue.offer(chunk, ignore)
    stream = Stream(queue, clock=SystemClock())
    batches = stream.batches(timeout_ms=10)
    assert places(next(batches)) == [(1, 5), (1, 6)]
    assert (lost.delivered_offset, lost.consumed_offset) == (0, 0)
    assert (kept.delivered_offset, kept.consumed_offset) == (7, 5)
    assert next(batches) == []
    assert kept.consumed_offset == 7


def test_a_pause_holds_a_batch_back() -> None:
    """Batches are empty meanwhile, and afterwards nothing is missing."""
    gate = DeliveryGate(SystemClock(), 0)
    claim = claim_of(committed=0)
    stream, _ = stream_of(chunk_of(claim, [0, 1]), chunk_of(claim, [2]), gate=gate)
    batches = stream.batches(max_records=1, timeout_ms=5)
    assert places(next(batches)) == [(0, 0)]
    gate.suspect()
    assert [next(batches), next(batches)] == [[], []]
    assert claim.delivered_offset == 1
    gate.trust()
    assert places(next(stream.batches(timeout_ms=0))) == [(0, 1), (0, 2)]


def test_within_the_allowed_silence_batches_go_on() -> None:
    """Single messages do so, too."""
    gate = DeliveryGate(SystemClock(), 10**6)
    gate.suspect()
    stream, _ = stream_of(chunk_of(claim_of(committed=0), [0, 1]), gate=gate)
    assert len(next(stream.batches(timeout_ms=0))) == 2


def test_a_forked_child_gets_no_batch() -> None:
    """It gets an error, within a chunk and from an old iterator; the parent reads on."""
    stream, queue = stream_of(chunk_of(claim_of(committed=0), range(6)))
    queue.close()
    batches = stream.batches(max_records=2)
    next(batches)

    def request() -> str:
        for requested in (batches, stream.batches(timeout_ms=0), stream.arrow_batches()):
            with pytest.raises(ConsumerForked):
                next(requested)
        return "told"

    assert in_forked_child(request) == "told"
    assert [len(batch) for batch in batches] == [2, 2]


def test_nobody_gets_a_batch_while_a_task_waits() -> None:
    """A stream has one reader at a time."""
    stream, queue = stream_of()

    async def main() -> None:
        task = asyncio.create_task(stream.__anext__())
        await until_waiting(queue)
        for requested in (stream.batches(), stream.arrow_batches()):
            with pytest.raises(StreamInUse):
                next(requested)
        queue.close()
        with pytest.raises(StopAsyncIteration):
            await task

    asyncio.run(main())


def test_a_jump_within_a_batch_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It is as between two single messages."""
    claim = claim_of(committed=0)
    stream, _ = stream_of(chunk_of(claim, [0]), chunk_of(claim, [50, 51]))
    with caplog.at_level(logging.WARNING):
        assert len(next(stream.batches(timeout_ms=0))) == 3
    assert ["from 1 to 50" in record.getMessage() for record in caplog.records] == [True]
    assert claim.delivered_offset == 52
