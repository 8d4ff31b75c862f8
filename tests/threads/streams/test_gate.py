"""Streams that wait while nobody knows what is owned, and how such a pause begins and ends."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, ignore
from tests.support.manual_clock import ManualClock
from tests.support.native_chunks import native_queue, set_of
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConsumerTimeout, RebalanceFailed
from zkconsumer.observe import DeliveryPaused, DeliveryResumed, Event, MemberName, Observation
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.lease import Lease, PureLease
from zkconsumer.streams.stream import KafkaStream

Stream = KafkaStream[bytes, bytes]


class Ear:
    """An observer that keeps what it hears; ``meanwhile`` runs while it hears it."""

    def __init__(self) -> None:
        self.received: list[Event] = []
        self.meanwhile: Callable[[], None] = ignore

    def observe(self, _member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        meanwhile, self.meanwhile = self.meanwhile, ignore
        meanwhile()
        self.received.append(event)


def gate_of(clock: Clock, allowed_ms: int, *ears: Ear) -> DeliveryGate:
    """A gate whose events these hear."""
    return DeliveryGate(clock, allowed_ms, Observation(MemberName("g", "c"), ears))


# --- the gate ------------------------------------------------------------------------------------


def test_it_is_shut_from_the_allowed_silence_on_until_it_is_trusted() -> None:
    """Open at first, open in the first part of a silence, shut then, open again after it."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    assert not gate.is_shut()
    gate.suspect()
    seen = [gate.suspect_since_ms]
    clock.advance(99)
    assert not gate.is_shut()
    clock.advance(1)
    assert gate.is_shut()
    gate.trust()
    seen.append(gate.suspect_since_ms)
    assert seen == [1_000, None]
    assert not gate.is_shut()


def test_a_silence_counts_from_its_begin_however_often_it_is_said() -> None:
    """Being told again does not start it anew; the next silence does."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.suspect()
    clock.advance(60)
    gate.suspect()
    clock.advance(60)
    assert gate.is_shut()
    gate.trust()
    gate.suspect()
    assert not gate.is_shut()


def test_no_silence_allowed_shuts_it_at_once() -> None:
    """With a share of 0."""
    gate = gate_of(ManualClock(), 0)
    gate.suspect()
    assert gate.is_shut()


def test_a_pause_is_told_once_at_each_end_however_many_streams_meet_it() -> None:
    """Paused with the silence so far, then resumed; again for the next pause."""
    clock, ear = ManualClock(), Ear()
    gate = gate_of(clock, 100, ear)
    for silent_ms in (150, 100):
        gate.suspect()
        clock.advance(silent_ms)
        assert gate.is_shut()
        clock.advance(10)
        assert gate.is_shut()
        gate.trust()
        gate.trust()
    assert ear.received == [
        DeliveryPaused(150),
        DeliveryResumed(),
        DeliveryPaused(100),
        DeliveryResumed(),
    ]


def test_a_silence_that_no_stream_met_is_no_pause() -> None:
    """Too short, or nobody asked: nothing was paused, so nothing is told."""
    ear = Ear()
    gate = gate_of(ManualClock(), 0, ear)
    gate.suspect()
    gate.trust()
    assert ear.received == []


def test_a_pause_that_ends_while_its_begin_is_told_is_told_in_order() -> None:
    """Resumed never comes before paused, and never fails to come."""
    ear = Ear()
    gate = gate_of(ManualClock(), 0, ear)
    ear.meanwhile = gate.trust
    gate.suspect()
    assert gate.is_shut()
    assert ear.received == [DeliveryPaused(0), DeliveryResumed()]


def test_trust_wakes_everybody() -> None:
    """Each waker is called, also where nothing was paused."""
    gate, woken = gate_of(ManualClock(), 0), []
    gate.add_waker(lambda: woken.append("one"))
    gate.add_waker(lambda: woken.append("two"))
    gate.trust()
    assert woken == ["one", "two"]


# --- answers of ZooKeeper ------------------------------------------------------------------------


def test_it_is_open_for_so_long_after_a_request_that_was_answered() -> None:
    """Counted from when that was sent, however late the answer came."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(950, 10)
    clock.advance(49)
    assert not gate.is_shut()
    clock.advance(1)
    assert gate.is_shut()
    gate.received(1_040, 10)
    assert not gate.is_shut()


def test_answers_out_of_order_take_nothing_back() -> None:
    """The latest request counts."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(1_000, 10)
    gate.received(900, 10)
    clock.advance(99)
    assert not gate.is_shut()


def test_a_connection_that_broke_shuts_it_no_later_than_silence_would() -> None:
    """And no later than so long after it broke."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(1_000, 10)
    clock.advance(60)
    gate.suspect()
    clock.advance(40)
    assert gate.is_shut()
    gate.received(1_100, 10)
    assert gate.is_shut(), "an answer, but nobody knows yet what is owned"
    gate.trust()
    assert not gate.is_shut()
    clock.advance(100)
    assert gate.is_shut()


def test_no_silence_allowed_is_two_answers_long_where_the_connection_stands() -> None:
    """Or a session that is well would be taken for a silent one between any two."""
    clock = ManualClock()
    gate = gate_of(clock, 0)
    gate.received(1_000, 50)
    clock.advance(99)
    assert not gate.is_shut()
    clock.advance(1)
    assert gate.is_shut()
    gate.received(1_100, 50)
    gate.suspect()
    assert gate.is_shut()


def test_a_pause_that_is_over_in_a_moment_is_not_told() -> None:
    """The caller's own code kept our threads from running, say."""
    clock, ear, woken = ManualClock(), Ear(), []
    gate = gate_of(clock, 100, ear)
    gate.add_waker(lambda: woken.append("woken"))
    gate.received(1_000, 10)
    clock.advance(5_000)
    assert gate.is_shut()
    clock.advance(499)
    assert gate.is_shut()
    gate.received(6_490, 10)
    assert (ear.received, woken) == ([], ["woken"])


def test_a_pause_on_a_connection_that_stands_is_told_when_it_lasts() -> None:
    """With the time since the last answer; nobody is woken for answers that nobody waits for."""
    clock, ear, woken = ManualClock(), Ear(), []
    gate = gate_of(clock, 100, ear)
    gate.add_waker(lambda: woken.append("woken"))
    gate.received(1_000, 10)
    for passed_ms in (150, 499, 1):
        clock.advance(passed_ms)
        assert ear.received == []
        assert gate.is_shut()
    gate.received(1_640, 10)
    gate.received(1_645, 10)
    assert ear.received == [DeliveryPaused(650), DeliveryResumed()]
    assert woken == ["woken"]


@pytest.mark.parametrize("way", ["one by one", "batches"])
@pytest.mark.parametrize("engine", ["pure", pytest.param("native", marks=needs_native_engine)])
def test_who_stood_still_amid_a_chunk_hands_out_nothing_more(engine: str, way: str) -> None:
    """No thread has said anything: the reader itself sees the time."""
    clock, claim = ManualClock(), claim_of(committed=0)
    gate = gate_of(clock, 100)
    queue = native_queue() if engine == "native" else ChunkQueue(10)
    if isinstance(queue, ChunkQueue):
        queue.offer(chunk_of(claim, range(10)), ignore)
    else:
        queue.native.put_set(claim, set_of(range(10)), 0)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    request: Iterator[list[int]] = (
        ([message.offset] for message in stream)
        if way == "one by one"
        else (
            [message_and_metadata.offset for message_and_metadata in some]
            for some in stream.batches(max_records=2, timeout_ms=0)
        )
    )
    gate.received(1_000, 10)
    first = next(request)
    clock.advance(100)
    with pytest.raises(ConsumerTimeout):
        next(request)
    assert (claim.delivered_offset, claim.consumed_offset) == (len(first), len(first))
    gate.received(1_090, 10)
    assert next(stream).offset == len(first)


@pytest.mark.parametrize("clock", [SystemClock(), ManualClock()], ids=["machine", "another"])
@pytest.mark.parametrize("make", [Lease, PureLease], ids=["engine", "pure"])
def test_a_lease_ends_when_its_clock_says_so(make: type[Lease], clock: Clock) -> None:
    """By whatever it reads that clock."""
    lease = make(clock)
    assert lease.now_s() < lease.until_s
    for left_ms, is_over in ((10_000, False), (-1, True), (60_000, False), (-10_000, True)):
        lease.end_at(clock.now_ms() + left_ms)
        assert (lease.now_s() >= lease.until_s) is is_over
    lease.end_at(0)
    assert lease.now_s() >= lease.until_s
    lease.end_at(None)
    assert lease.now_s() < lease.until_s


# --- streams at the gate -------------------------------------------------------------------------


def test_nothing_is_handed_over_while_it_is_shut_also_in_mid_chunk() -> None:
    """Time-outs as usual, with the rest of the chunk and the queue kept for later."""
    clock, claim, queue = ManualClock(), claim_of(committed=0), ChunkQueue(10)
    gate = gate_of(clock, 100)
    for chunk in (chunk_of(claim, [0, 1, 2]), chunk_of(claim, [3])):
        queue.offer(chunk, ignore)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    assert next(stream).offset == 1
    clock.advance(100)
    for _ in range(3):
        with pytest.raises(ConsumerTimeout):
            next(stream)
    assert (claim.delivered_offset, claim.consumed_offset) == (2, 2)
    gate.trust()
    assert [next(stream).offset, next(stream).offset] == [2, 3]


def test_a_chunk_is_not_begun_while_it_is_shut() -> None:
    """What is queued stays there."""
    clock, claim, queue = ManualClock(), claim_of(committed=0), ChunkQueue(10)
    gate = gate_of(clock, 0)
    queue.offer(chunk_of(claim, [0]), ignore)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    gate.suspect()
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert (claim.delivered_offset, queue.chunk_count()) == (None, 1)


def test_an_error_is_heard_while_it_is_shut() -> None:
    """What is no message need not wait."""
    clock, queue = ManualClock(), ChunkQueue(10)
    gate = gate_of(clock, 0)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    gate.suspect()
    queue.fail(RebalanceFailed("after 4 tries"))
    with pytest.raises(RebalanceFailed):
        next(stream)
    with pytest.raises(ConsumerTimeout):
        next(stream)


def test_the_timeout_counts_in_a_pause_and_is_slept_not_spun() -> None:
    """As long as configured, with next to no processor time, however much is queued."""
    queue, claim = ChunkQueue(100), claim_of(committed=0)
    for offset in range(50):
        queue.offer(chunk_of(claim, [offset]), ignore)
    gate = gate_of(SystemClock(), 0)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), timeout_ms=700, gate=gate)
    gate.suspect()
    begin_ms, used_s = SystemClock().now_ms(), time.thread_time()
    with pytest.raises(ConsumerTimeout, match="700 ms"):
        next(stream)
    assert SystemClock().now_ms() - begin_ms >= 700
    assert time.thread_time() - used_s < 0.2


class RacingClock(ManualClock):
    """A clock in whose hands the silence ends just when a stream asks how long it lasts."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = ignore

    def now_ms(self) -> int:
        """See ``Clock``."""
        meanwhile, self.meanwhile = self.meanwhile, ignore
        meanwhile()
        return super().now_ms()


def test_a_pause_that_ends_while_a_stream_looks_costs_no_message() -> None:
    """A stream that is held up between two messages doesn't take its chunk for finished."""
    clock, claim, queue = RacingClock(), claim_of(committed=0), ChunkQueue(10)
    gate = gate_of(clock, 0)
    queue.offer(chunk_of(claim, [0, 1, 2]), ignore)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    clock.meanwhile = gate.trust
    assert [next(stream).offset, next(stream).offset] == [1, 2]


def test_trust_wakes_a_stream_by_its_queue() -> None:
    """It need not look around by itself."""
    gate, queue = gate_of(ManualClock(), 0), ChunkQueue(10)
    _stream: Stream = KafkaStream(queue, clock=ManualClock(), gate=gate)
    changes: list[str] = []
    queue.listen(lambda: changes.append("woken"))
    gate.trust()
    assert changes == ["woken"]


@contextmanager
def reading(stream: Stream) -> Iterator[list[tuple[int, int]]]:
    """A thread that reads the stream to its end; gives what it got, as it comes."""
    got: list[tuple[int, int]] = []
    scope = ThreadScope("gate")
    scope.spawn(
        "reader",
        lambda: got.extend((message.partition, message.offset) for message in stream),
        stop=ignore,
    )
    yield got
    assert scope.close(10_000) == []
    assert scope.first_error() is None


def test_trust_lets_every_waiting_stream_go_on() -> None:
    """Streams that wait without a time-out, one in mid-chunk and one with an unread chunk."""
    clock, gate_clock = SystemClock(), ManualClock()
    ear = Ear()
    gate = gate_of(gate_clock, 0, ear)
    gate.suspect()
    queues = [ChunkQueue(10), ChunkQueue(10)]
    first: Stream = KafkaStream(queues[0], clock=clock, gate=gate)
    second: Stream = KafkaStream(queues[1], clock=clock, gate=gate)
    queues[0].offer(chunk_of(claim_of(T0), [0, 1]), ignore)
    queues[1].offer(chunk_of(claim_of(T1), [5]), ignore)
    with reading(first) as one, reading(second) as two:
        wait_until(lambda: ear.received, what="the pause")
        assert (one, two) == ([], [])
        gate.trust()
        wait_until(lambda: len(one) == 2 and two, what="the messages")
        for queue in queues:
            queue.close()
    assert (one, two) == ([(0, 0), (0, 1)], [(1, 5)])
    assert ear.received == [DeliveryPaused(0), DeliveryResumed()]


def test_a_shutdown_ends_a_stream_that_waits_at_the_gate() -> None:
    """Everything is given up, then the end is said: iteration ends without anything more."""
    gate = gate_of(SystemClock(), 0)
    claim, queue = claim_of(T0), ChunkQueue(10)
    queue.offer(chunk_of(claim, [0, 1]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    with reading(stream) as got:
        claim.active = False
        queue.discard_inactive()
        queue.close()
    assert got == []


@pytest.mark.timeout(10)
def test_a_claim_that_is_given_up_frees_its_memory_while_the_stream_waits() -> None:
    """Nothing calls the stream when a session ends; it looks around by itself."""
    gate = gate_of(SystemClock(), 0)
    claim, queue = claim_of(T0), ChunkQueue(10)
    queue.offer(chunk_of(claim, [0, 1]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    with reading(stream) as got:
        claim.active = False
        wait_until(lambda: queue.used_bytes() == 0, what="the memory")
        queue.close()
    assert got == []


def test_suspicion_and_trust_in_quick_turns_lose_nothing() -> None:
    """A stream that reads while the gate flaps gets every message once, in order."""
    gate = gate_of(SystemClock(), 0)
    claim, queue, count = claim_of(committed=0), ChunkQueue(10_000), 20_000
    for first in range(0, count, 10):
        queue.offer(chunk_of(claim, range(first, first + 10)), ignore)
    queue.close()
    stop = threading.Event()
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)

    def flap() -> None:
        while not stop.is_set():
            gate.suspect()
            gate.trust()

    scope = ThreadScope("gate")
    scope.spawn("flapper", flap, stop=stop.set)
    try:
        offsets = [message.offset for message in stream]
    finally:
        assert scope.close(10_000) == []
    assert offsets == list(range(count))
