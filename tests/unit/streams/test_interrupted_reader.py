"""A stream that is interrupted at every single place at which a signal handler can run."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count

import pytest

from tests.support.chunks import T0, T1, are_native, chunk_of, claim_of, each_chunk, ignore
from tests.support.interrupting import HandlerRaised, interrupt_at_check, raise_in_handler
from tests.support.manual_clock import ManualClock
from tests.support.shares import sampling_step
from zkconsumer.errors import ConsumerTimeout, PartitionFailed, RebalanceFailed
from zkconsumer.fetch.claim import Chunk, PartitionClaim, Poison
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.poison import PoisonMode, PoisonPolicy
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Stream = KafkaStream[bytes, bytes]
Message = MessageAndMetadata[bytes, bytes]
Reading = Iterable[Message] | Iterable[list[Message]]


PLACES = [(0, 0), (0, 1), (1, 5), (0, 4), (1, 6), (1, 9), (0, 5)]
"""Partition and offset of all messages, in the order of the queue."""


class CountingQueue(ChunkQueue):
    """A queue that records which chunks its stream was done with."""

    def __init__(self) -> None:
        super().__init__(100)
        self.done: list[Chunk] = []

    def release(self, chunk: Chunk) -> None:
        """Record the chunk and free its bytes."""
        self.done.append(chunk)
        super().release(chunk)


class InterruptedStream:
    """A stream with every kind of item in its queue, and what it should deliver."""

    def __init__(self, delivery: Delivery, *, is_suspect: bool = False) -> None:
        self.claims = claim_of(T0, committed=0), claim_of(T1, committed=5)
        self.committed = {T0: 0, T1: 5}
        self.queue = CountingQueue()
        one, two = self.claims
        lost = claim_of(T0)
        passed = Poison(T1, 7, 9, PartitionFailed(T1, 7, "CRC"))
        self.chunks = [
            chunk_of(one, [0, 1]),
            chunk_of(lost, [0]),
            chunk_of(two, [5]),
            chunk_of(one, fetched_at=2, next_offset=4),
            chunk_of(one, [4]),
            chunk_of(two, [6], next_offset=9, poison=passed),
            chunk_of(two, [9], error=PartitionFailed(T1, 10, "magic")),
            chunk_of(one, [5]),
        ]
        for chunk in self.chunks[:6]:
            self.queue.offer(chunk, ignore)
        self.queue.fail(RebalanceFailed("any"))
        for chunk in self.chunks[6:]:
            self.queue.offer(chunk, ignore)
        lost.active = False
        clock = ManualClock()
        gate = DeliveryGate(clock, 1_000)
        if is_suspect:
            gate.suspect()  # still within the suspicion's limit: each message asks the gate
        self.stream: Stream = KafkaStream(
            self.queue,
            clock=clock,
            timeout_ms=0,
            gate=gate,
            delivery=delivery,
            commit_ahead=self.commit,
            poison=PoisonPolicy(PoisonMode.SKIP),
        )
        self.reading: Reading = self.stream
        self.got: list[MessageAndMetadata[bytes, bytes]] = []
        self.received: list[str] = []

    def commit(self, claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``."""
        self.committed[claim.topic_partition] = offset
        return True

    def read(self) -> None:
        """Read one message or batch; record an error that the stream itself raises."""
        try:
            # In a for loop no handler runs between taking a message and storing it.
            for got in self.reading:
                self.got += got if isinstance(got, list) else [got]
                break
        except (RebalanceFailed, PartitionFailed) as error:
            self.received.append(type(error).__name__)

    def read_some(self) -> None:
        """Read one message or batch, if there is any."""
        with suppress(ConsumerTimeout):
            self.read()

    def read_all(self) -> None:
        """Read everything that is there."""
        for _ in range(20):
            try:
                self.read()
            except ConsumerTimeout:
                return
        raise AssertionError("no end")

    def check_delivered(self) -> None:
        """Assert that no delivered offset covers a message that was not delivered."""
        got = [(message.partition, message.offset) for message in self.got]
        for partition, offset in PLACES:
            delivered = self.claims[partition].delivered_offset
            covers = delivered is not None and delivered > offset
            assert not covers or (partition, offset) in got

    def check(self) -> None:
        """Assert that everything came once, the offsets are at their ends, and nothing is held."""
        assert [(message.partition, message.offset) for message in self.got] == PLACES
        assert [claim.consumed_offset for claim in self.claims] == [6, 10]
        assert self.queue.used_bytes() == 0
        assert self.queue.chunk_count() == 0
        assert set(map(id, self.queue.done)) == set(map(id, self.chunks))


class ByNext:
    """Reads a stream as ``next(stream)`` does."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __iter__(self) -> "ByNext":
        return self

    def __next__(self) -> MessageAndMetadata[bytes, bytes]:
        return self._stream.__next__()


def _in_threes(stream: Stream) -> Reading:
    return stream.batches(max_records=3, timeout_ms=0)


def _all_at_once(stream: Stream) -> Reading:
    return stream.batches(timeout_ms=0)


READINGS = [
    pytest.param(lambda stream: stream, False, id="for"),
    pytest.param(lambda stream: stream, True, id="for, suspect"),
    pytest.param(iter, False, id="one iterator"),
    pytest.param(ByNext, False, id="next"),
    pytest.param(ByNext, True, id="next, suspect"),
    pytest.param(_in_threes, False, id="batches of 3"),
    pytest.param(_all_at_once, True, id="batches, suspect"),
]
"""How a stream is read, and whether its gate is suspect, so that each message asks it."""


@pytest.mark.parametrize("delivery", Delivery)
def test_without_interruption_every_chunk_is_released_exactly_once(delivery: Delivery) -> None:
    """Without interruptions the stream is done with each chunk exactly once, of whatever kind."""
    world = InterruptedStream(delivery)
    world.read_all()
    world.check()
    assert world.received == ["RebalanceFailed", "PartitionFailed"]
    assert sorted(map(id, world.queue.done)) == sorted(map(id, world.chunks))


@pytest.mark.parametrize(("first", "delivery"), list(enumerate(Delivery)))
@pytest.mark.parametrize("calls_before", [0, 1, 2, 4, 6])
@pytest.mark.parametrize(("reading", "is_suspect"), READINGS)
def test_an_interruption_at_any_place_loses_and_repeats_nothing(
    first: int,
    delivery: Delivery,
    calls_before: int,
    is_suspect: bool,
    reading: Callable[[Stream], Reading],
) -> None:
    """Wherever it is interrupted, the next calls deliver all that was not delivered.

    Most code does not depend on the delivery mode: each mode tries the places that others skip.
    """
    step = sampling_step(len(Delivery))
    for number in count(first % step, step):
        world = InterruptedStream(delivery, is_suspect=is_suspect)
        world.reading = reading(world.stream)
        for _ in range(calls_before):
            world.read_some()
        try:
            was_interrupted = interrupt_at_check(number, raise_in_handler, world.read_some)
        except HandlerRaised:
            was_interrupted = True
            world.check_delivered()
        if not was_interrupted:
            # Within a chunk the native cursor gives no handler a place to run.
            assert number > 3 or are_native()
            break
        if number % 2:
            world.reading = world.stream  # another way of reading continues
        world.read_all()
        world.check()
        assert "RebalanceFailed" in world.received
        assert world.received.count("PartitionFailed") == 1
