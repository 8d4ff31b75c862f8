"""The native queue between threads without the GIL, in forked children, and with signals."""

import gc
import os
import signal
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.chunks import T0, T1, chunk_of, claim_of, ignore
from tests.support.forks import in_forked_child
from tests.support.interrupting import HandlerRaised
from tests.support.native_chunks import native_queue, new_wakeup, offsets_in, put, set_of
from tests.support.queues import needs_native_engine
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerForked, ConsumerTimeout
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.stream import KafkaStream

if TYPE_CHECKING:
    from zkconsumer.streams.queues import NativeChunkQueue

pytestmark = needs_native_engine


def native_producer(
    queue: "NativeChunkQueue", claim: PartitionClaim, count: int, step: int
) -> Callable[[], None]:
    """Behave as a native loop: put record sets, and wait for the wakeup when the queue is full."""

    def run() -> None:
        wakeup = new_wakeup()
        for begin in range(0, count, step):
            data = set_of(range(begin, min(begin + step, count)))
            at = begin
            while (left := queue.native.put_set(claim, data, at, wakeup)) is not None:
                at = left
                assert wakeup.wait(20_000), "not notified"

    return run


def python_producer(
    queue: "NativeChunkQueue", claim: PartitionClaim, count: int
) -> Callable[[], None]:
    """Behave as a fetcher in Python: offer chunks, and wait for the callback when it is full."""

    def run() -> None:
        capacity = threading.Event()
        for n in range(0, count, 5):
            chunk = chunk_of(claim, range(n, min(n + 5, count)))
            while not queue.offer(chunk, capacity.set):
                assert capacity.wait(20), "no callback for capacity"
                capacity.clear()

    return run


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize(("max_chunks", "share_bytes"), [(2, 1 << 20), (1_000, 9_000), (3, 1)])
def test_many_producers_lose_and_repeat_nothing(max_chunks: int, share_bytes: int) -> None:
    """Native loops and Python fetchers fill one small queue that a stream reads."""
    queue, count = native_queue(max_chunks, share_bytes), 600 if share_bytes > 1 else 60
    claims = [claim_of(TopicPartition("t", n)) for n in range(5)]
    scope = ThreadScope("queue")
    for claim, step in zip(claims[:3], (1, 7, 200), strict=True):
        scope.spawn("pump", native_producer(queue, claim, count, step), stop=ignore)
    for claim in claims[3:]:
        scope.spawn("fetcher", python_producer(queue, claim, count), stop=ignore)
    received: dict[PartitionClaim, list[int]] = {claim: [] for claim in claims}
    left = count * len(claims)
    while left:
        item = queue.head(20_000)
        assert isinstance(item, Chunk), f"stalled with {left} to come"
        queue.remove()
        offsets = offsets_in(item)
        assert queue.used_bytes() <= share_bytes or len(offsets) == 1
        received[item.claim] += offsets
        left -= len(offsets)
        queue.release(item)
    assert scope.close(5_000) == []
    assert scope.first_error() is None
    assert all(offsets == list(range(count)) for offsets in received.values())
    assert (queue.used_bytes(), queue.chunk_count()) == (0, 0)


@pytest.mark.usefixtures("frequent_switches")
def test_claims_are_given_up_while_native_loops_put() -> None:
    """Nothing of a claim comes after the stream has noticed that it was given up."""
    queue, rounds = native_queue(3, 20_000), 40
    scope = ThreadScope("queue")
    for number in range(rounds):
        claims = [claim_of(T0), claim_of(T1)]
        for claim in claims:
            scope.spawn(f"pump{number}", native_producer(queue, claim, 90, 9), stop=ignore)
        received: dict[PartitionClaim, list[int]] = {claim: [] for claim in claims}
        while sum(map(len, received.values())) < 100:
            item = queue.take(20_000)
            assert isinstance(item, Chunk)
            if item.claim.active:
                received[item.claim] += offsets_in(item)
        for claim in claims:
            claim.active = False
        queue.discard_inactive()
        assert all(offsets == list(range(len(offsets))) for offsets in received.values())
        wait_until(lambda: not queue.take(0), what="an empty queue")
    assert scope.close(5_000) == []
    assert scope.first_error() is None
    wait_until(lambda: not queue.take(0) and not queue.used_bytes(), what="room")


def test_a_native_chunk_wakes_a_waiting_stream() -> None:
    """The wait ends with the put, and not with the stream's next periodic check."""
    queue, claim = native_queue(), claim_of()
    taken: list[object] = []
    scope = ThreadScope("queue")
    for number in range(50):
        thread = scope.spawn("stream", lambda: taken.append(queue.take(20_000)), stop=ignore)
        put(queue, claim, [number])
        thread.thread.join(0.45)
        assert not thread.thread.is_alive()
    assert [offsets_in(chunk) for chunk in taken] == [[number] for number in range(50)]


# --- forks ---------------------------------------------------------------------------------------


def test_in_a_forked_child_a_queue_is_empty_and_accepts_nothing() -> None:
    """Every call returns at once, and the parent's queue is not affected."""
    queue, claim = native_queue(), claim_of()
    put(queue, claim, [0])

    def child() -> str:
        queue.close()
        queue.wake()
        queue.pause(None)
        taken = put(queue, claim, [1]), queue.offer(chunk_of(claim, [2]), ignore)
        queue.discard_inactive()
        seen = queue.head(None), queue.take(20_000), queue.chunk_count(), queue.used_bytes()
        return repr((taken, seen))

    assert in_forked_child(child) == "((1, False), (None, None, 0, 0))"
    assert offsets_in(queue.take(0)) == [0]
    assert queue.head(0) is None


@pytest.mark.usefixtures("frequent_switches")
def test_a_forked_child_never_waits_for_its_parents_mutex() -> None:
    """A thread of the parent holds it at almost any moment, and does not exist in the child."""
    queue, claim = native_queue(2, 20_000), claim_of()
    is_over = threading.Event()

    def produce() -> None:
        while not is_over.is_set():
            put(queue, claim, range(3))

    def consume() -> None:
        while not is_over.is_set():
            queue.take(1)

    def child() -> str:
        queue.fail(ConsumerTimeout("any"))
        queue.discard_inactive()
        return repr((queue.take(20_000), queue.used_bytes()))

    scope = ThreadScope("forks")
    for body in (produce, produce, consume):
        scope.spawn("busy", body, stop=is_over.set)
    try:
        assert {in_forked_child(child) for _ in range(40)} == {"(None, 0)"}
    finally:
        assert scope.close(5_000) == []


def test_a_forked_child_frees_a_queue_without_touching_descriptors() -> None:
    """It frees Python objects only; a descriptor may belong to something else by then."""
    kept = [native_queue()]
    put(kept[0], claim_of(), range(100))
    gone = weakref.ref(kept[0])

    def child() -> str:
        gc.collect()  # what other tests left
        before = os.listdir("/dev/fd")
        kept.clear()
        gc.collect()
        return repr((gone(), os.listdir("/dev/fd") == before))

    assert in_forked_child(child) == "(None, True)"
    assert offsets_in(kept[0].take(0)) == list(range(100))


def test_a_child_that_is_forked_within_a_wait_raises() -> None:
    """A signal handler forks; the parent's wait goes on, and ends with the next chunk."""
    queue, claim = native_queue(), claim_of()
    stream = KafkaStream[bytes, bytes](queue, clock=SystemClock())
    reading, writing = os.pipe()
    children: list[int] = []

    def fork(_number: int, _frame: object) -> None:
        children.append(os.fork())
        if children[0]:
            put(queue, claim, [7])

    before = signal.signal(signal.SIGALRM, fork)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            offset = next(stream).offset
        except ConsumerForked:
            os.write(writing, b"told")
            os._exit(0)
        if not children[0]:
            os._exit(1)
    finally:
        signal.signal(signal.SIGALRM, before)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"told"
    os.waitpid(children[0], 0)
    assert offset == 7


# --- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", ["head", "pause"])
def test_a_handler_that_raises_ends_a_wait_at_once(wait: str) -> None:
    """If the handler does not raise, the wait goes on."""
    queue = native_queue()
    calls: list[int] = []

    def handler(_number: int, _frame: object) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise HandlerRaised

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        with pytest.raises(HandlerRaised):
            getattr(queue, wait)(None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) == 3
    put(queue, claim_of(), [0])
    assert offsets_in(queue.head(None)) == [0]


def test_a_handler_may_close_and_read_within_a_wait() -> None:
    """It may even take from the queue whose wait it interrupts."""
    queue, claim = native_queue(), claim_of()
    taken: list[object] = []

    def handler(_number: int, _frame: object) -> None:
        put(queue, claim, [1])
        taken.append(queue.take(None))
        queue.discard_inactive()
        put(queue, claim, [2])
        queue.close()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        item = queue.take(None)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert (offsets_in(taken[0]), offsets_in(item)) == ([1], [2])


def test_a_chunk_whose_construction_is_interrupted_is_not_lost() -> None:
    """Constructing it calls Python, where a signal handler may raise, or read the queue."""
    queue, claim = native_queue(), claim_of()
    calls: list[int] = []
    seen: list[object] = []

    def make(*parts: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise HandlerRaised
        if len(calls) == 2:
            seen.append(queue.native.head(0))
        return Chunk(*parts)  # type: ignore[arg-type]

    queue.native = queue._store = type(queue.native)(10, make)
    put(queue, claim, [5])
    with pytest.raises(HandlerRaised):
        queue.head(0)
    first = queue.head(0)
    assert seen == [first]
    assert offsets_in(first) == [5]
    assert queue.take(0) is first
    assert queue.native.named_items() == []


def test_capacity_made_between_two_checks_is_not_missed() -> None:
    """If the stream takes a chunk just then, the producer succeeds, or is called back."""
    queue, claim, calls = native_queue(1), claim_of(), []
    put(queue, claim, [0])

    class Racing:
        """A native queue from which the stream takes just before the producer waits."""

        def __init__(self, native: object) -> None:
            self._native = native

        def __getattr__(self, name: str) -> object:
            if name == "wait_for_capacity":
                queue.take(0)
            return getattr(self._native, name)

    queue._store = Racing(queue.native)  # type: ignore[assignment]
    assert queue.offer(chunk_of(claim, [1]), lambda: calls.append(1))
    queue._store = queue.native
    assert offsets_in(queue.take(0)) == [1]
