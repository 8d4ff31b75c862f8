"""The wakeup, the rounds of a poll, the single caller, and the committed-offset thread."""

import os
import signal
import threading

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.consumer.assembly import assemble
from zkconsumer.consumer.committed_lookup import CommittedLookup, CommittedResult
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.poll_loop import PollLoop
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.errors import ConsumerClosed, IllegalState, RequestTimedOut, Woken
from zkconsumer.forking import ForkGuard
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.transport import Connector, Transport
from zkconsumer.scope import Mailbox, ThreadScope

A = TopicPartition("t", 0)


def test_a_signal_ends_the_current_wait_or_the_next() -> None:
    """Several signals end one wait only."""
    wakeup = Wakeup()
    for _ in range(3):
        wakeup.signal()
    began_ms = SystemClock().now_ms()
    wakeup.wait(60_000)
    assert SystemClock().now_ms() - began_ms < 5_000
    wakeup.wait(20)  # the earlier signals are used up
    signaller = ThreadScope("test")
    signaller.spawn("signaller", wakeup.signal, stop=lambda: None)
    wakeup.wait(60_000)
    assert signaller.close(5_000) == []


def test_wakeup_raises_once() -> None:
    """It raises in the current call, or in the next."""
    wakeup = Wakeup()
    wakeup.check()
    wakeup.wake()
    wakeup.wait(60_000)
    with pytest.raises(Woken):
        wakeup.check()
    wakeup.check()


def test_wakeup_from_a_signal_handler_ends_a_wait() -> None:
    """The handler runs in the thread that waits."""
    wakeup = Wakeup()
    before = signal.signal(signal.SIGUSR1, lambda *_: wakeup.wake())
    scope = ThreadScope("test")
    try:
        scope.spawn("killer", lambda: os.kill(os.getpid(), signal.SIGUSR1), stop=lambda: None)
        wakeup.wait(60_000)
        with pytest.raises(Woken):
            wakeup.check()
    finally:
        scope.close(5_000)
        signal.signal(signal.SIGUSR1, before)


class Rounds:
    """Counts the rounds of a poll."""

    turns = 0

    def turn(self) -> None:
        """Count a round."""
        self.turns += 1


class ManualWakeup(Wakeup):
    """A wakeup whose waits only advance a manual clock."""

    __slots__ = ("clock", "waits")

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.waits: list[int] = []

    def wait(self, timeout_ms: int) -> None:
        """See ``Wakeup``."""
        self.waits.append(timeout_ms)
        self.clock.advance(timeout_ms)


def test_a_poll_waits_in_pieces() -> None:
    """The group is thus notified of the caller at intervals, until the time-out."""
    clock, rounds = ManualClock(), Rounds()
    wakeup = ManualWakeup(clock)
    loop = PollLoop(rounds.turn, wakeup, clock, most_ms=300)
    assert loop.run(0, lambda: "") == ""
    assert (rounds.turns, wakeup.waits) == (1, [])
    assert loop.run(700, lambda: "") == ""
    assert wakeup.waits == [300, 300, 101]  # the current millisecond has begun, so add one
    found = iter(["", "", "x"])
    assert loop.run(None, lambda: next(found)) == "x"


def test_a_poll_gathers_records_within_its_time_out() -> None:
    """It delivers what there is by then; with a time-out of 0 it does not wait."""
    clock, rounds = ManualClock(), Rounds()
    wakeup = ManualWakeup(clock)
    gathering: list[int] = [250, 40, 0]
    loop = PollLoop(
        rounds.turn, wakeup, clock, most_ms=300, gathering_wait_ms=lambda: gathering.pop(0)
    )
    assert loop.run(5_000, lambda: "x") == "x"
    assert (rounds.turns, wakeup.waits) == (3, [250, 40])
    wakeup.waits.clear()
    always = PollLoop(rounds.turn, wakeup, clock, most_ms=300, gathering_wait_ms=lambda: 250)
    assert always.run(100, lambda: "x") == "x"
    assert wakeup.waits == [101]
    assert always.run(0, lambda: "x") == "x"
    assert wakeup.waits == [101]


def test_a_poll_that_is_woken_delivers_nothing() -> None:
    """The next poll delivers the records."""
    clock = ManualClock()
    wakeup = ManualWakeup(clock)
    loop = PollLoop(Rounds().turn, wakeup, clock, most_ms=300)
    wakeup.wake()
    with pytest.raises(Woken):
        loop.run(0, lambda: "x")
    assert loop.run(0, lambda: "x") == "x"


def test_only_one_thread_is_inside_at_a_time() -> None:
    """That thread may enter again, as a listener does."""
    single_caller = SingleCaller(ForkGuard("consumer x"))
    inside, go_on = threading.Event(), threading.Event()

    def stay() -> None:
        with single_caller, single_caller:
            inside.set()
            go_on.wait(30)

    scope = ThreadScope("test")
    scope.spawn("other", stay, stop=go_on.set)
    assert inside.wait(30)
    with pytest.raises(IllegalState, match="another thread"), single_caller:
        pass
    inside_seen = [single_caller.is_inside]
    go_on.set()
    assert scope.close(5_000) == []
    with single_caller:
        inside_seen.append(single_caller.is_inside)
    inside_seen.append(single_caller.is_inside)
    assert inside_seen == [False, True, False]
    single_caller.closed = True
    with pytest.raises(ConsumerClosed, match="consumer x was closed"), single_caller:
        pass
    assert not single_caller.is_inside


def test_committed_offsets_are_looked_up_in_a_thread() -> None:
    """An error is a result, too; the thread ends when its scope is closed."""
    responses: Mailbox[dict[TopicPartition, OffsetAndMetadata | None] | Exception] = Mailbox()
    signals: Mailbox[None] = Mailbox()

    def request(
        partitions: frozenset[TopicPartition],
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        assert partitions == {A}
        found = responses.get(30_000)
        if isinstance(found, Exception):
            raise found
        assert found is not None
        return found

    scope = ThreadScope("test")
    lookup = CommittedLookup(request, scope, lambda: signals.put(None))
    assert lookup.responses() == []
    lookup.request(frozenset({A}))
    error = RequestTimedOut("x")
    responses.put({A: None})
    lookup.request(frozenset({A}))
    responses.put(error)
    seen: list[CommittedResult] = []

    def both() -> bool:
        seen.extend(lookup.responses())
        return len(seen) == 2

    wait_until(both, what="both answers")
    assert seen == [
        CommittedResult(frozenset({A}), {A: None}),
        CommittedResult(frozenset({A}), error),
    ]
    assert len(signals.drain()) == 2
    lookup.request(frozenset({A}))
    responses.put(ConsumerClosed("closed"))
    assert scope.close(5_000) == []
    assert scope.first_error() is None


def test_a_poll_raises_what_a_thread_died_of() -> None:
    """It does for any thread of the consumer, since nothing would do its work any more."""

    class Faulty(Connector):
        def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
            raise KeyError(f"a fault of ours, at {host}:{port}, {timeout_ms}")

    config = PollConfig(bootstrap_servers="broker:1", heartbeat_interval_ms=50)
    parts = assemble(config, connector=Faulty())
    try:
        parts.session.subscribe(["t"], None, None)
        for _ in range(2):
            with pytest.raises(KeyError, match="a fault of ours"):
                parts.loop.run(10_000, lambda: None)
    finally:
        parts.close(5_000, commit=False)
