"""A stream that is interrupted at every single place at which a signal handler can run."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import pytest

from tests.support.chunks import T0, T1, are_native, chunk_of, claim_of, each_chunk, ignore
from tests.support.interrupting import interrupt_at_check
from tests.support.manual_clock import ManualClock
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


class Interrupted(Exception):
    """What the handler raises."""


def interrupt() -> None:
    """The handler."""
    raise Interrupted


class CountingQueue(ChunkQueue):
    """A queue that notes the chunks that its stream says to be done with."""

    def __init__(self) -> None:
        super().__init__(100)
        self.done: list[Chunk] = []

    def done_with(self, chunk: Chunk) -> None:
        """Note and do it."""
        self.done.append(chunk)
        super().done_with(chunk)


class World:
    """A stream with a bit of everything in its queue, and what it should come to."""

    def __init__(self, delivery: Delivery, *, is_suspect: bool = False) -> None:
        self.claims = claim_of(T0, committed=0), claim_of(T1, committed=5)
        self.committed = {T0: 0, T1: 5}
        self.queue = CountingQueue()
        one, two = self.claims
        lost = claim_of(T0)
        passed = Poison(T1, 6, 8, PartitionFailed(T1, 6, "CRC"))
        self.chunks = [
            chunk_of(one, [0, 1]),
            chunk_of(lost, [0]),
            chunk_of(two, [5], next_offset=8, poison=passed),
            chunk_of(one, fetched_at=2, next_offset=4),
            chunk_of(two, [8], error=PartitionFailed(T1, 9, "magic")),
            chunk_of(one, [4]),
        ]
        for chunk in self.chunks[:4]:
            self.queue.offer(chunk, ignore)
        self.queue.fail(RebalanceFailed("any"))
        for chunk in self.chunks[4:]:
            self.queue.offer(chunk, ignore)
        lost.active = False
        clock = ManualClock()
        gate = DeliveryGate(clock, 1_000)
        if is_suspect:
            gate.suspect()  # within what is allowed: every message asks
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
        self.heard: list[str] = []

    def commit(self, claim: PartitionClaim, offset: int) -> bool:
        """See ``CommitAhead``."""
        self.committed[claim.topic_partition] = offset
        return True

    def read(self) -> None:
        """One message; what the stream raises by itself is noted."""
        try:
            # In a for, no handler runs between a message and its place in the list.
            for got in self.reading:
                self.got += got if isinstance(got, list) else [got]
                break
        except (RebalanceFailed, PartitionFailed) as error:
            self.heard.append(type(error).__name__)

    def read_some(self) -> None:
        """The same, if there is any."""
        with suppress(ConsumerTimeout):
            self.read()

    def read_all(self) -> None:
        """Everything that is there."""
        for _ in range(20):
            try:
                self.read()
            except ConsumerTimeout:
                return
        raise AssertionError("no end")

    def check(self) -> None:
        """Everything came once, the offsets are at their ends, and nothing is held."""
        got = [(message.partition, message.offset) for message in self.got]
        assert got == [(0, 0), (0, 1), (1, 5), (1, 8), (0, 4)]
        assert [claim.consumed_offset for claim in self.claims] == [5, 9]
        assert self.queue.used_bytes() == 0
        assert self.queue.chunk_count() == 0
        assert set(map(id, self.queue.done)) == set(map(id, self.chunks))


class ByNext:
    """Asks a stream as ``next(stream)`` does."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __iter__(self) -> "ByNext":
        return self

    def __next__(self) -> MessageAndMetadata[bytes, bytes]:
        return self._stream.__next__()


READINGS: tuple[Callable[[Stream], Reading], ...] = (
    lambda stream: stream,  # a new for each time
    iter,  # one iterator all the time
    ByNext,
    lambda stream: stream.batches(max_records=3, timeout_ms=0),
    lambda stream: stream.batches(timeout_ms=0),
)
READING_NAMES = ["for", "iter", "next", "batches of 3", "batches"]


def rounds() -> Iterator[int]:
    """The numbers of places, without end."""
    number = 0
    while True:
        yield number
        number += 1


@pytest.mark.parametrize("delivery", Delivery)
def test_undisturbed_every_chunk_is_done_with_exactly_once(delivery: Delivery) -> None:
    """Finished, given up, without records, with poison passed over or raised: each once."""
    world = World(delivery)
    world.read_all()
    world.check()
    assert world.heard == ["RebalanceFailed", "PartitionFailed"]
    assert sorted(map(id, world.queue.done)) == sorted(map(id, world.chunks))


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("calls_before", range(7))
@pytest.mark.parametrize("is_suspect", [False, True])
@pytest.mark.parametrize("reading", READINGS, ids=READING_NAMES)
def test_an_interruption_at_any_place_loses_and_repeats_nothing(
    delivery: Delivery,
    calls_before: int,
    is_suspect: bool,
    reading: Callable[[Stream], Reading],
) -> None:
    """Whatever the stream was doing, the next calls give all that was not handed over."""
    for number in rounds():
        world = World(delivery, is_suspect=is_suspect)
        world.reading = reading(world.stream)
        for _ in range(calls_before):
            world.read_some()
        try:
            was_interrupted = interrupt_at_check(number, interrupt, world.read_some)
        except Interrupted:
            was_interrupted = True
        if not was_interrupted:
            # Within a chunk the native hand gives no handler a place.
            assert number > 3 or are_native()
            break
        world.read_all()
        world.check()
        assert "RebalanceFailed" in world.heard
        assert world.heard.count("PartitionFailed") == 1
