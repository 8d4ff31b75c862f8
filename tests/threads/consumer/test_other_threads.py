"""Other threads while one polls: what they may do, what is refused, and how they end the poll."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, ConsumerFactory, joined_consumer, offsets_of
from tests.support.poll_fakes import FakeParts
from tests.support.waiting import wait_until
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.consumer import position_calls
from zkconsumer.consumer.session import PollSession
from zkconsumer.errors import ConsumerClosed, IllegalState, NotAssigned, RequestTimedOut

WAIT_S = 30


class PolledConsumer:
    """A consumer that another thread polls, in the middle of a wait.

    Attributes:
        result: the future of that poll's result.
    """

    def __init__(self, consumer: KafkaConsumer, fakes: FakeParts, pool: ThreadPoolExecutor) -> None:
        self.consumer, self.fakes = consumer, fakes
        self._go_on = threading.Event()
        waits = threading.Event()

        def wait() -> None:
            waits.set()
            gate = consumer._parts.one_caller
            wait_until(lambda: self._go_on.is_set() or gate.is_ending, what="a word")

        fakes.wakeup.meanwhile.append(wait)
        self.result: Future[Any] = pool.submit(consumer.poll, 1_000)
        assert waits.wait(WAIT_S)

    def go_on(self) -> Any:
        """Let the poll end, and return its result."""
        self._go_on.set()
        return self.result.result(WAIT_S)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """A pool of other threads."""
    with ThreadPoolExecutor(5) as pool:
        yield pool


@pytest.fixture
def polling(make_consumer: ConsumerFactory, pool: ThreadPoolExecutor) -> PolledConsumer:
    """A consumer that has delivered three records of each partition and waits for more."""
    consumer, fakes = make_consumer("t")
    fakes.engine.ends = {A: 3, B: 3}
    fakes.group.assign(A, B)
    consumer.poll()
    assert offsets_of(consumer.poll()) == {A: [0, 1, 2], B: [0, 1, 2]}
    return PolledConsumer(consumer, fakes, pool)


def test_any_thread_may_read_the_state_while_one_polls(polling: PolledConsumer) -> None:
    """It does not wait for the poll, and the poll goes on."""
    consumer = polling.consumer
    assert consumer.assignment() == {A, B}
    assert consumer.subscription() == {"t"}
    assert consumer.position(A) == 3
    assert consumer.highwater(A) == 3
    assert consumer.paused() == set()
    assert consumer.group_metadata().generation_id == 7
    assert consumer.metrics()["consumer-coordinator-metrics"]["assigned-partitions"] == 2
    assert polling.go_on() == {}


def test_any_thread_may_pause_while_one_polls(polling: PolledConsumer) -> None:
    """The current poll already leaves the paused partition's records out."""
    consumer = polling.consumer
    consumer.pause(A)
    polling.fakes.engine.ends = {A: 5, B: 5}
    assert offsets_of(polling.go_on()) == {B: [3, 4]}
    assert consumer.paused() == {A}
    consumer.resume(A)
    assert offsets_of(consumer.poll()) == {A: [3, 4]}


CHANGES: list[Callable[[KafkaConsumer], object]] = [
    lambda consumer: consumer.poll(),
    lambda consumer: consumer.poll_arrow(),
    next,
    lambda consumer: consumer.seek(A, 0),
    lambda consumer: consumer.seek_to_end(),
    lambda consumer: consumer.subscribe(["u"]),
    lambda consumer: consumer.assign([A]),
    lambda consumer: consumer.unsubscribe(),
    lambda consumer: consumer.commit(),
    lambda consumer: consumer.commit_async(),
    lambda consumer: consumer.committed(A),
    lambda consumer: consumer.topics(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_calls_that_change_the_consumer_have_one_caller(
    polling: PolledConsumer, change: Callable[[KafkaConsumer], object]
) -> None:
    """Another thread gets an error that says what it may do; the poll goes on."""
    if change is CHANGES[1]:
        pytest.importorskip("pyarrow")
    with pytest.raises(IllegalState, match=r"another thread .* one caller at a time.*close may"):
        change(polling.consumer)
    assert polling.go_on() == {}


def test_an_unknown_position_is_looked_up_by_the_polling_thread(
    make_consumer: ConsumerFactory, pool: ThreadPoolExecutor
) -> None:
    """Another thread waits for it, and never does the consumer's work itself."""
    consumer, fakes = make_consumer("t")
    fakes.group.assign(A)
    fakes.lookup.holds = True
    pool.submit(consumer.poll).result(WAIT_S)
    seen = pool.submit(PolledConsumer, consumer, fakes, pool).result(WAIT_S)
    fakes.lookup.holds = False
    waiting = pool.submit(seen.go_on)
    assert consumer.position(A) == 0
    assert waiting.result(WAIT_S) == {}
    with pytest.raises(IllegalState, match="not assigned"):
        consumer.position(TopicPartition("u", 0))


class Seeking:
    """A consumer that another thread polls, and whose position stays unknown.

    Attributes:
        waits: the pauses between two checks for the position, in ms.
        meanwhile: what another thread does in each of these pauses.
    """

    def __init__(
        self, make_consumer: ConsumerFactory, pool: ThreadPoolExecutor, patch: pytest.MonkeyPatch
    ) -> None:
        self.consumer, self.fakes = make_consumer()
        self.fakes.lookup.holds = True
        self.waits: list[int] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._pool = pool
        patch.setattr(position_calls, "wait_ms", self._wait)

    def run(self, call: Callable[[], object]) -> None:
        """Run a call in another thread."""
        self._pool.submit(call).result(WAIT_S)

    def find(self) -> None:
        """Look up the position, unless the consumer was closed."""
        self.fakes.lookup.holds = False
        with contextlib.suppress(ConsumerClosed):
            self.consumer.poll()

    def _wait(self, duration_ms: int) -> None:
        self.waits.append(duration_ms)
        self.fakes.clock.advance(duration_ms)
        self.run(self.meanwhile)


@pytest.fixture
def seeking(
    make_consumer: ConsumerFactory, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> Seeking:
    """A consumer whose position stays unknown."""
    return Seeking(make_consumer, pool, monkeypatch)


def read_by_choice(seeking: Seeking) -> None:
    """Assign a partition: it is kept when the consumer is closed."""
    seeking.consumer.assign([A])
    seeking.run(seeking.consumer.poll)
    assert seeking.consumer.assignment() == {A}


def read_by_group(seeking: Seeking) -> None:
    """Get a partition from the group: it is given up when the consumer is closed."""
    seeking.consumer.subscribe(["t"])
    seeking.fakes.group.assign(A)
    seeking.run(seeking.consumer.poll)
    assert seeking.consumer.assignment() == {A}


@pytest.mark.parametrize("begin", [read_by_choice, read_by_group])
def test_a_wait_for_a_position_ends_with_the_consumer(
    seeking: Seeking, begin: Callable[[Seeking], None]
) -> None:
    """It does at the next check, not at the time-out."""
    begin(seeking)
    seeking.meanwhile = seeking.consumer.close
    with pytest.raises(ConsumerClosed, match="consumer fake was closed"):
        seeking.consumer.position(A)
    assert len(seeking.waits) == 1


@pytest.mark.parametrize("timeout_ms", [None, 0])
def test_an_unknown_position_of_a_closed_consumer_is_not_waited_for(
    seeking: Seeking, timeout_ms: int | None
) -> None:
    """The error is ConsumerClosed, not that the position is unknown so far."""
    read_by_choice(seeking)
    seeking.run(seeking.consumer.close)
    with pytest.raises(ConsumerClosed, match="consumer fake was closed"):
        seeking.consumer.position(A, timeout_ms=timeout_ms)
    assert len(seeking.waits) <= 1


def test_a_position_of_a_lost_partition_is_not_waited_for(seeking: Seeking) -> None:
    """No thread looks it up any more."""
    read_by_group(seeking)
    seeking.fakes.group.revoke(A)
    seeking.meanwhile = seeking.consumer.poll
    with pytest.raises(NotAssigned, match="t-0 is not assigned"):
        seeking.consumer.position(A)
    assert len(seeking.waits) == 1


READS: list[Callable[[KafkaConsumer], object]] = [
    lambda consumer: consumer.assignment(),
    lambda consumer: consumer.subscription(),
    lambda consumer: consumer.position(A),
    lambda consumer: consumer.highwater(A),
    lambda consumer: consumer.paused(),
    lambda consumer: consumer.pause(A),
    lambda consumer: consumer.resume(A),
    lambda consumer: consumer.group_metadata(),
    lambda consumer: consumer.metrics(),
    lambda consumer: consumer.wakeup(),
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("begin", [read_by_choice, read_by_group])
def test_calls_of_any_thread_end_at_once_if_another_one_closes(
    make_consumer: ConsumerFactory,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable[[Seeking], None],
    read: Callable[[KafkaConsumer], object],
) -> None:
    """At any point of a call: it returns its result, or raises ConsumerClosed."""
    for number in count():
        seeking = Seeking(make_consumer, pool, monkeypatch)
        begin(seeking)
        seeking.meanwhile = seeking.find
        waited: list[int] = []

        def close(seeking: Seeking = seeking, waited: list[int] = waited) -> None:
            waited.append(len(seeking.waits))
            seeking.run(seeking.consumer.close)

        with contextlib.suppress(ConsumerClosed):
            interrupt_at_check(number, close, partial(read, seeking.consumer))
        if not waited:
            break
        assert len(seeking.waits) - waited[0] <= 1
    assert number


def test_a_position_is_never_ahead_of_what_a_poll_delivers(make_consumer: ConsumerFactory) -> None:
    """At any point of a poll: its records may still be put back."""
    seen: set[int | None] = set()
    for number in count():
        consumer, _ = joined_consumer(make_consumer)
        session = consumer._parts.session

        def read(session: PollSession = session) -> None:
            found = session.positions.position_seen(A)
            seen.add(None if found is None else found.offset)

        if not interrupt_at_check(number, read, consumer.poll):
            break
        assert consumer.position(A) == 10
    assert seen == {None, 0}


def test_close_ends_a_poll_of_another_thread(polling: PolledConsumer) -> None:
    """It commits and leaves before it returns; the poll returns no records, and the next raises."""
    polling.consumer.close()
    assert {committed.offset for committed in polling.fakes.group.committed_offsets.values()} == {3}
    assert polling.fakes.group.owned == frozenset()
    assert polling.result.result(WAIT_S) == {}
    with pytest.raises(ConsumerClosed):
        polling.consumer.poll()


def test_wakeup_ends_a_poll_of_another_thread_too(polling: PolledConsumer) -> None:
    """The poll raises an error of its own, and the consumer can be polled again."""
    polling.consumer.wakeup()
    with pytest.raises(Exception, match="wakeup"):
        polling.go_on()
    assert polling.consumer.poll() == {}


def test_threads_that_close_at_the_same_time_all_find_it_closed(
    polling: PolledConsumer, pool: ThreadPoolExecutor
) -> None:
    """Only one of them closes it."""
    for closed in [pool.submit(polling.consumer.close) for _ in range(4)]:
        closed.result(WAIT_S)
    assert polling.consumer._parts.one_caller.closed
    assert len([call for call in polling.fakes.group.calls if call.startswith("close")]) == 1


def test_a_close_that_timed_out_is_done_when_the_call_ends(
    make_consumer: ConsumerFactory, pool: ThreadPoolExecutor
) -> None:
    """A listener that hangs blocks its own thread only."""
    consumer, fakes = make_consumer("t")
    inside, go_on = threading.Event(), threading.Event()

    class Hangs(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: object) -> None:
            inside.set()
            gate = consumer._parts.one_caller
            wait_until(lambda: gate.request is not None, what="a close")
            fakes.clock.advance(200)
            assert go_on.wait(WAIT_S), assigned

    consumer.subscribe(["t"], listener=Hangs())
    fakes.group.assign(A)
    polled = pool.submit(consumer.poll, 1_000)
    assert inside.wait(WAIT_S)
    with pytest.raises(RequestTimedOut, match=r"consumer fake: another thread .* 100 ms"):
        consumer.close(timeout_ms=100)
    assert not consumer._parts.one_caller.closed
    go_on.set()
    assert polled.result(WAIT_S) == {}
    assert consumer._parts.one_caller.closed


def test_a_handler_that_interrupts_a_read_leaves_the_close_to_the_poll(
    polling: PolledConsumer,
) -> None:
    """The polling thread may wait for a lock of the interrupted one, so the handler can't wait."""
    gate = polling.consumer._parts.one_caller
    gate.here.depth += 1  # as inside of ``metrics()``
    polling.consumer.close()
    gate.here.depth -= 1
    assert polling.result.result(WAIT_S) == {}
    wait_until(lambda: gate.closed, what="the end")


def test_a_handler_that_interrupts_a_read_closes_after_it(make_consumer: ConsumerFactory) -> None:
    """It does if no thread polls."""
    consumer, fakes = joined_consumer(make_consumer)
    stats = fakes.engine.stats

    def interrupted() -> object:
        consumer.close()
        assert not consumer._parts.one_caller.closed
        return stats()

    fakes.engine.stats = interrupted  # type: ignore[method-assign,assignment]
    assert consumer.metrics()
    assert consumer._parts.one_caller.closed
