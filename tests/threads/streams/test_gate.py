"""Streams that pause while it is unknown what they own, and how such a pause begins and ends."""

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


class EventLog:
    """An observer that keeps the events it gets; ``meanwhile`` runs before the next one."""

    def __init__(self) -> None:
        self.received: list[Event] = []
        self.meanwhile: Callable[[], None] = ignore

    def observe(self, _member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        meanwhile, self.meanwhile = self.meanwhile, ignore
        meanwhile()
        self.received.append(event)


def gate_of(clock: Clock, allowed_ms: int, *logs: EventLog) -> DeliveryGate:
    """Make a gate with these observers."""
    return DeliveryGate(clock, allowed_ms, Observation(MemberName("g", "c"), logs))


# --- the gate ------------------------------------------------------------------------------------


def test_the_gate_is_shut_after_the_allowed_silence_until_it_is_trusted() -> None:
    """It is open at first and early in a silence, then shut, and open again after the silence."""
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


def test_a_silence_counts_from_its_first_report() -> None:
    """Another report does not restart it; the next silence has its own start."""
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


def test_without_an_allowed_silence_the_gate_shuts_at_once() -> None:
    """The allowed share of the session time-out is 0."""
    gate = gate_of(ManualClock(), 0)
    gate.suspect()
    assert gate.is_shut()


def test_a_pause_is_observed_once_at_each_end() -> None:
    """The events have the silence so far, however many streams are paused."""
    clock, log = ManualClock(), EventLog()
    gate = gate_of(clock, 100, log)
    for silent_ms in (150, 100):
        gate.suspect()
        clock.advance(silent_ms)
        assert gate.is_shut()
        clock.advance(10)
        assert gate.is_shut()
        gate.trust()
        gate.trust()
    assert log.received == [
        DeliveryPaused(150),
        DeliveryResumed(),
        DeliveryPaused(100),
        DeliveryResumed(),
    ]


def test_a_silence_without_a_waiting_stream_is_no_pause() -> None:
    """No stream checked the gate meanwhile, so there is no event."""
    log = EventLog()
    gate = gate_of(ManualClock(), 0, log)
    gate.suspect()
    gate.trust()
    assert log.received == []


def test_the_events_of_a_very_short_pause_come_in_order() -> None:
    """Resumed never comes before paused, and is never missing."""
    log = EventLog()
    gate = gate_of(ManualClock(), 0, log)
    log.meanwhile = gate.trust
    gate.suspect()
    assert gate.is_shut()
    assert log.received == [DeliveryPaused(0), DeliveryResumed()]


def test_trust_wakes_all_streams() -> None:
    """Each waker is called, even if nothing was paused."""
    gate, woken = gate_of(ManualClock(), 0), []
    gate.add_waker(lambda: woken.append("one"))
    gate.add_waker(lambda: woken.append("two"))
    gate.trust()
    assert woken == ["one", "two"]


# --- responses of ZooKeeper ----------------------------------------------------------------------


def test_the_gate_is_open_for_a_time_after_an_answered_request() -> None:
    """The time counts from when the request was sent, however late the response came."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(950, 10)
    clock.advance(49)
    assert not gate.is_shut()
    clock.advance(1)
    assert gate.is_shut()
    gate.received(1_040, 10)
    assert not gate.is_shut()


def test_responses_out_of_order_do_not_shorten_the_time() -> None:
    """The latest request counts."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(1_000, 10)
    gate.received(900, 10)
    clock.advance(99)
    assert not gate.is_shut()


def test_a_broken_connection_shuts_the_gate_no_later_than_silence() -> None:
    """Nor later than the allowed silence after it broke."""
    clock = ManualClock()
    gate = gate_of(clock, 100)
    gate.received(1_000, 10)
    clock.advance(60)
    gate.suspect()
    clock.advance(40)
    assert gate.is_shut()
    gate.received(1_100, 10)
    assert gate.is_shut(), "a response, but what is owned is not known so far"
    gate.trust()
    assert not gate.is_shut()
    clock.advance(100)
    assert gate.is_shut()


def test_without_an_allowed_silence_a_connection_has_two_response_times() -> None:
    """Otherwise a healthy session would count as silent between any two responses."""
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


def test_a_pause_of_a_moment_is_not_observed() -> None:
    """The caller's own code may have kept our threads from running."""
    clock, log, woken = ManualClock(), EventLog(), []
    gate = gate_of(clock, 100, log)
    gate.add_waker(lambda: woken.append("woken"))
    gate.received(1_000, 10)
    clock.advance(5_000)
    assert gate.is_shut()
    clock.advance(499)
    assert gate.is_shut()
    gate.received(6_490, 10)
    assert (log.received, woken) == ([], ["woken"])


def test_a_lasting_pause_on_an_open_connection_is_observed() -> None:
    """The event has the time since the last response; streams are woken only if they wait."""
    clock, log, woken = ManualClock(), EventLog(), []
    gate = gate_of(clock, 100, log)
    gate.add_waker(lambda: woken.append("woken"))
    gate.received(1_000, 10)
    for passed_ms in (150, 499, 1):
        clock.advance(passed_ms)
        assert log.received == []
        assert gate.is_shut()
    gate.received(1_640, 10)
    gate.received(1_645, 10)
    assert log.received == [DeliveryPaused(650), DeliveryResumed()]
    assert woken == ["woken"]


@pytest.mark.parametrize("way", ["one by one", "batches"])
@pytest.mark.parametrize("engine", ["pure", pytest.param("native", marks=needs_native_engine)])
def test_a_reader_that_slept_within_a_chunk_delivers_nothing_more(engine: str, way: str) -> None:
    """No thread has reported a silence: the reader itself checks the time."""
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
    """It does whether native code or Python reads that clock."""
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


def test_nothing_is_delivered_while_the_gate_is_shut() -> None:
    """Time-outs come as usual; the rest of a chunk and the queue are kept."""
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


def test_a_chunk_is_not_begun_while_the_gate_is_shut() -> None:
    """It stays in the queue."""
    clock, claim, queue = ManualClock(), claim_of(committed=0), ChunkQueue(10)
    gate = gate_of(clock, 0)
    queue.offer(chunk_of(claim, [0]), ignore)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    gate.suspect()
    with pytest.raises(ConsumerTimeout):
        next(stream)
    assert (claim.delivered_offset, queue.chunk_count()) == (None, 1)


def test_an_error_is_raised_while_the_gate_is_shut() -> None:
    """Only messages must wait."""
    clock, queue = ManualClock(), ChunkQueue(10)
    gate = gate_of(clock, 0)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    gate.suspect()
    queue.fail(RebalanceFailed("after 4 tries"))
    with pytest.raises(RebalanceFailed):
        next(stream)
    with pytest.raises(ConsumerTimeout):
        next(stream)


def test_the_timeout_counts_in_a_pause_without_spinning() -> None:
    """It takes as long as configured and hardly any CPU, however much is queued."""
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
    """A clock that ends the silence just when a stream reads how long it lasts."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] = ignore

    def now_ms(self) -> int:
        """See ``Clock``."""
        meanwhile, self.meanwhile = self.meanwhile, ignore
        meanwhile()
        return super().now_ms()


def test_a_pause_that_ends_during_the_check_costs_no_message() -> None:
    """A stream that is stopped between two messages does not take its chunk for finished."""
    clock, claim, queue = RacingClock(), claim_of(committed=0), ChunkQueue(10)
    gate = gate_of(clock, 0)
    queue.offer(chunk_of(claim, [0, 1, 2]), ignore)
    stream: Stream = KafkaStream(queue, clock=clock, timeout_ms=0, gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    clock.meanwhile = gate.trust
    assert [next(stream).offset, next(stream).offset] == [1, 2]


def test_trust_wakes_a_stream_by_its_queue() -> None:
    """The stream need not poll the gate."""
    gate, queue = gate_of(ManualClock(), 0), ChunkQueue(10)
    _stream: Stream = KafkaStream(queue, clock=ManualClock(), gate=gate)
    changes: list[str] = []
    queue.listen(lambda: changes.append("woken"))
    gate.trust()
    assert changes == ["woken"]


@contextmanager
def reading(stream: Stream) -> Iterator[list[tuple[int, int]]]:
    """Read the stream to its end in a thread; yield the list that it fills."""
    received: list[tuple[int, int]] = []
    scope = ThreadScope("gate")
    scope.spawn(
        "reader",
        lambda: received.extend((message.partition, message.offset) for message in stream),
        stop=ignore,
    )
    yield received
    assert scope.close(10_000) == []
    assert scope.first_error() is None


def test_trust_resumes_every_waiting_stream() -> None:
    """Both wait without a time-out, with chunks in their queues."""
    clock, gate_clock = SystemClock(), ManualClock()
    log = EventLog()
    gate = gate_of(gate_clock, 0, log)
    gate.suspect()
    queues = [ChunkQueue(10), ChunkQueue(10)]
    first: Stream = KafkaStream(queues[0], clock=clock, gate=gate)
    second: Stream = KafkaStream(queues[1], clock=clock, gate=gate)
    queues[0].offer(chunk_of(claim_of(T0), [0, 1]), ignore)
    queues[1].offer(chunk_of(claim_of(T1), [5]), ignore)
    with reading(first) as one, reading(second) as two:
        wait_until(lambda: log.received, what="the pause")
        assert (one, two) == ([], [])
        gate.trust()
        wait_until(lambda: len(one) == 2 and two, what="the messages")
        for queue in queues:
            queue.close()
    assert (one, two) == ([(0, 0), (0, 1)], [(1, 5)])
    assert log.received == [DeliveryPaused(0), DeliveryResumed()]


def test_a_shutdown_ends_a_stream_that_waits_at_the_gate() -> None:
    """The claim is given up and the queue closed: the iteration ends without a message."""
    gate = gate_of(SystemClock(), 0)
    claim, queue = claim_of(T0), ChunkQueue(10)
    queue.offer(chunk_of(claim, [0, 1]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    with reading(stream) as received:
        claim.active = False
        queue.discard_inactive()
        queue.close()
    assert received == []


@pytest.mark.timeout(10)
def test_a_claim_that_is_given_up_frees_its_memory_while_the_stream_waits() -> None:
    """The end of a session does not wake the stream, so it checks at intervals."""
    gate = gate_of(SystemClock(), 0)
    claim, queue = claim_of(T0), ChunkQueue(10)
    queue.offer(chunk_of(claim, [0, 1]), ignore)
    stream: Stream = KafkaStream(queue, clock=SystemClock(), gate=gate)
    assert next(stream).offset == 0
    gate.suspect()
    with reading(stream) as received:
        claim.active = False
        wait_until(lambda: queue.used_bytes() == 0, what="the memory")
        queue.close()
    assert received == []


def test_a_flapping_gate_loses_no_message() -> None:
    """A stream that reads meanwhile gets every message once, in order."""
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
