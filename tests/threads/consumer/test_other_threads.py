"""Other threads while one polls: what they may do, what not, and how they end it."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import pytest

from tests.support.interrupting import interrupt_at_check
from tests.support.poll_callers import A, B, Make, joined, offsets_of
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
        result: of that poll.
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
        """Let it end; what it gave."""
        self._go_on.set()
        return self.result.result(WAIT_S)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Other threads."""
    with ThreadPoolExecutor(5) as pool:
        yield pool


@pytest.fixture
def polling(make: Make, pool: ThreadPoolExecutor) -> PolledConsumer:
    """A consumer that got three records of each partition and waits for more."""
    consumer, fakes = make("t")
    fakes.engine.ends = {A: 3, B: 3}
    fakes.group.give(A, B)
    consumer.poll()
    assert offsets_of(consumer.poll()) == {A: [0, 1, 2], B: [0, 1, 2]}
    return PolledConsumer(consumer, fakes, pool)


def test_any_thread_may_look_while_one_polls(polling: PolledConsumer) -> None:
    """Without waiting for it; the poll does not notice."""
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
    """That poll hands out nothing of it, though it comes now."""
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
def test_what_changes_something_has_one_caller(
    polling: PolledConsumer, change: Callable[[KafkaConsumer], object]
) -> None:
    """Others are told so, and what they may do; the poll does not notice."""
    if change is CHANGES[1]:
        pytest.importorskip("pyarrow")
    with pytest.raises(IllegalState, match=r"another thread .* one caller at a time.*close may"):
        change(polling.consumer)
    assert polling.go_on() == {}


def test_a_position_that_is_not_known_is_found_by_who_polls(
    make: Make, pool: ThreadPoolExecutor
) -> None:
    """Another thread waits for it, and never turns the consumer's wheels."""
    consumer, fakes = make("t")
    fakes.group.give(A)
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
    """A consumer that another thread polls, and whose position nobody finds out.

    Attributes:
        waits: how long each pause between two looks for it was.
        meanwhile: what happens in another thread in each of them.
    """

    def __init__(self, make: Make, pool: ThreadPoolExecutor, patch: pytest.MonkeyPatch) -> None:
        self.consumer, self.fakes = make()
        self.fakes.lookup.holds = True
        self.waits: list[int] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self._pool = pool
        patch.setattr(position_calls, "wait_ms", self._wait)

    def run(self, call: Callable[[], object]) -> None:
        """Call it in another thread."""
        self._pool.submit(call).result(WAIT_S)

    def find(self) -> None:
        """Find the position out, where that can still be."""
        self.fakes.lookup.holds = False
        with contextlib.suppress(ConsumerClosed):
            self.consumer.poll()

    def _wait(self, duration_ms: int) -> None:
        self.waits.append(duration_ms)
        self.fakes.clock.advance(duration_ms)
        self.run(self.meanwhile)


@pytest.fixture
def seeking(make: Make, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> Seeking:
    """A consumer whose position nobody finds out."""
    return Seeking(make, pool, monkeypatch)


def read_by_choice(seeking: Seeking) -> None:
    """What was chosen is kept when the consumer is closed."""
    seeking.consumer.assign([A])
    seeking.run(seeking.consumer.poll)
    assert seeking.consumer.assignment() == {A}


def read_by_group(seeking: Seeking) -> None:
    """What the group gave is given back when the consumer is closed."""
    seeking.consumer.subscribe(["t"])
    seeking.fakes.group.give(A)
    seeking.run(seeking.consumer.poll)
    assert seeking.consumer.assignment() == {A}


@pytest.mark.parametrize("begin", [read_by_choice, read_by_group])
def test_a_position_that_is_waited_for_ends_with_the_consumer(
    seeking: Seeking, begin: Callable[[Seeking], None]
) -> None:
    """At the next look, not when the time for it is over."""
    begin(seeking)
    seeking.meanwhile = seeking.consumer.close
    with pytest.raises(ConsumerClosed, match="consumer fake was closed"):
        seeking.consumer.position(A)
    assert len(seeking.waits) == 1


@pytest.mark.parametrize("timeout_ms", [None, 0])
def test_a_position_that_was_not_known_when_it_was_closed_is_not_waited_for(
    seeking: Seeking, timeout_ms: int | None
) -> None:
    """Nor said to be unknown so far."""
    read_by_choice(seeking)
    seeking.run(seeking.consumer.close)
    with pytest.raises(ConsumerClosed, match="consumer fake was closed"):
        seeking.consumer.position(A, timeout_ms=timeout_ms)
    assert len(seeking.waits) <= 1


def test_a_position_of_a_partition_that_goes_is_not_waited_for(seeking: Seeking) -> None:
    """Nobody looks for it any more."""
    read_by_group(seeking)
    seeking.fakes.group.take(A)
    seeking.meanwhile = seeking.consumer.poll
    with pytest.raises(NotAssigned, match="t-0 is not assigned"):
        seeking.consumer.position(A)
    assert len(seeking.waits) == 1


LOOKS: list[Callable[[KafkaConsumer], object]] = [
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


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("begin", [read_by_choice, read_by_group])
def test_what_any_thread_may_do_ends_at_once_where_another_one_closes(
    make: Make,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    begin: Callable[[Seeking], None],
    look: Callable[[KafkaConsumer], object],
) -> None:
    """At any place of it: it has its answer, or says that the consumer was closed."""
    for number in count():
        seeking = Seeking(make, pool, monkeypatch)
        begin(seeking)
        seeking.meanwhile = seeking.find
        waited: list[int] = []

        def close(seeking: Seeking = seeking, waited: list[int] = waited) -> None:
            waited.append(len(seeking.waits))
            seeking.run(seeking.consumer.close)

        with contextlib.suppress(ConsumerClosed):
            interrupt_at_check(number, close, partial(look, seeking.consumer))
        if not waited:
            break
        assert len(seeking.waits) - waited[0] <= 1
    assert number


def test_a_position_never_runs_ahead_of_what_a_poll_hands_out(make: Make) -> None:
    """At no place of it: records that are on their way may be put back yet."""
    seen: set[int | None] = set()
    for number in count():
        consumer, _ = joined(make)
        session = consumer._parts.session

        def look(session: PollSession = session) -> None:
            found = session.positions.position_seen(A)
            seen.add(None if found is None else found.offset)

        if not interrupt_at_check(number, look, consumer.poll):
            break
        assert consumer.position(A) == 10
    assert seen == {None, 0}


def test_close_ends_a_poll_of_another_thread(polling: PolledConsumer) -> None:
    """It commits and leaves before it returns; the poll gives nothing, and the next says why."""
    polling.consumer.close()
    assert {committed.offset for committed in polling.fakes.group.committed_offsets.values()} == {3}
    assert polling.fakes.group.owned == frozenset()
    assert polling.result.result(WAIT_S) == {}
    with pytest.raises(ConsumerClosed):
        polling.consumer.poll()


def test_wakeup_ends_a_poll_of_another_thread_too(polling: PolledConsumer) -> None:
    """With an error of its own; the consumer goes on."""
    polling.consumer.wakeup()
    with pytest.raises(Exception, match="wakeup"):
        polling.go_on()
    assert polling.consumer.poll() == {}


def test_threads_that_close_at_the_same_time_all_find_it_closed(
    polling: PolledConsumer, pool: ThreadPoolExecutor
) -> None:
    """It is closed once."""
    for closed in [pool.submit(polling.consumer.close) for _ in range(4)]:
        closed.result(WAIT_S)
    assert polling.consumer._parts.one_caller.closed
    assert len([call for call in polling.fakes.group.calls if call.startswith("close")]) == 1


def test_a_close_that_waited_in_vain_is_done_when_the_call_ends(
    make: Make, pool: ThreadPoolExecutor
) -> None:
    """A listener that hangs holds up its own thread only."""
    consumer, fakes = make("t")
    inside, go_on = threading.Event(), threading.Event()

    class Hangs(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: object) -> None:
            inside.set()
            gate = consumer._parts.one_caller
            wait_until(lambda: gate.request is not None, what="a close")
            fakes.clock.advance(200)
            assert go_on.wait(WAIT_S), assigned

    consumer.subscribe(["t"], listener=Hangs())
    fakes.group.give(A)
    polled = pool.submit(consumer.poll, 1_000)
    assert inside.wait(WAIT_S)
    with pytest.raises(RequestTimedOut, match=r"consumer fake: another thread .* 100 ms"):
        consumer.close(timeout_ms=100)
    assert not consumer._parts.one_caller.closed
    go_on.set()
    assert polled.result(WAIT_S) == {}
    assert consumer._parts.one_caller.closed


def test_a_handler_that_interrupts_a_look_leaves_the_close_to_who_polls(
    polling: PolledConsumer,
) -> None:
    """It may hold what that one waits for: it must not wait itself."""
    gate = polling.consumer._parts.one_caller
    gate.here.depth += 1  # as inside of ``metrics()``
    polling.consumer.close()
    gate.here.depth -= 1
    assert polling.result.result(WAIT_S) == {}
    wait_until(lambda: gate.closed, what="the end")


def test_a_handler_that_interrupts_a_look_closes_behind_it(make: Make) -> None:
    """Where nobody polls."""
    consumer, fakes = joined(make)
    stats = fakes.engine.stats

    def interrupted() -> object:
        consumer.close()
        assert not consumer._parts.one_caller.closed
        return stats()

    fakes.engine.stats = interrupted  # type: ignore[method-assign,assignment]
    assert consumer.metrics()
    assert consumer._parts.one_caller.closed
