"""Mailboxes, and scopes that own threads."""

import itertools
import logging
import signal
import threading
from collections.abc import Callable
from functools import partial

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.scope import Mailbox, ScopedThread, ThreadScope, naps, side_by_side, wait_ms

# --- mailboxes -----------------------------------------------------------------------------------


def test_items_come_in_order() -> None:
    """First in, first out."""
    box: Mailbox[int] = Mailbox()
    for number in range(3):
        box.put(number)
    assert [box.get(0) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("timeout_ms", [-1, 0, 1, 499, 500, 501, 2600])
def test_the_pieces_of_a_wait_add_up(timeout_ms: int) -> None:
    """There is at least one piece, and none is longer than half a second."""
    pieces = list(naps(timeout_ms))
    assert sum(pieces) == max(0, timeout_ms)
    assert pieces
    assert max(pieces) <= 500


def test_an_endless_wait_has_pieces_without_end() -> None:
    """A signal that came too late to end a piece is handled after it, half a second later."""
    assert list(itertools.islice(naps(None), 100)) == [500] * 100


def test_an_empty_mailbox_returns_none_after_the_time_out() -> None:
    """It does not wait for a time-out of 0 or less."""
    box: Mailbox[int] = Mailbox()
    assert box.get(0) is None
    assert box.get(-1) is None
    assert box.get(5) is None


def test_a_falsy_item_is_an_item() -> None:
    """Zero, for example, is returned as it is."""
    box: Mailbox[int] = Mailbox()
    box.put(0)
    assert box.get(None) == 0


def test_draining_returns_all_items() -> None:
    """They come in order, and none is left."""
    box: Mailbox[int] = Mailbox()
    assert box.drain() == []
    box.put(1)
    box.put(2)
    assert box.drain() == [1, 2]
    assert box.get(0) is None


def test_a_waiting_thread_is_woken() -> None:
    """An item from another thread does so."""
    box: Mailbox[str] = Mailbox()
    received: list[str | None] = []
    scope = ThreadScope("box")
    scope.spawn("reader", lambda: received.append(box.get(None)), stop=lambda: box.put("stop"))
    box.put("item")
    wait_until(lambda: received == ["item"], what="the item")
    assert scope.close(5_000) == []


def waiting_for(event: threading.Event) -> Callable[[], None]:
    """Return a thread's body that ends with this event."""

    def run() -> None:
        event.wait(10)

    return run


# --- scopes --------------------------------------------------------------------------------------


def test_a_thread_has_the_names_of_scope_and_role() -> None:
    """A stack dump thus shows its owner; as a daemon it never keeps the process alive."""
    names: list[tuple[str, bool]] = []

    def run() -> None:
        thread = threading.current_thread()
        names.append((thread.name, thread.daemon))

    scope = ThreadScope("group/member")
    scope.spawn("fetcher", run, stop=lambda: None)
    assert scope.close(5_000) == []
    assert names == [("group/member/fetcher", True)]


def test_closing_stops_all_threads_before_it_waits_for_any() -> None:
    """Here each of two threads ends only once the other one was stopped."""
    one, two = threading.Event(), threading.Event()
    scope = ThreadScope("scope")
    scope.spawn("first", waiting_for(two), stop=one.set)
    scope.spawn("second", waiting_for(one), stop=two.set)
    assert scope.close(5_000) == []


def test_closing_returns_the_threads_that_still_run() -> None:
    """It does not wait for ever; closing again later returns none."""
    end = threading.Event()
    scope = ThreadScope("scope")
    scope.spawn("stubborn", waiting_for(end), stop=lambda: None)
    assert scope.close(10) == ["scope/stubborn"]
    end.set()
    assert scope.close(5_000) == []


def test_the_time_out_is_for_all_threads_together() -> None:
    """It is not for each of them."""
    clock = ManualClock()
    clock.step_ms = 60  # each reading of the clock takes longer than the time-out
    end = threading.Event()
    scope = ThreadScope("scope", clock=clock)
    for number in range(5):
        scope.spawn(f"stubborn-{number}", waiting_for(end), stop=lambda: None)
    assert len(scope.close(50)) == 5
    end.set()
    assert scope.close(60_000) == []


def test_the_owner_gets_a_thread_s_error(caplog: pytest.LogCaptureFixture) -> None:
    """The callback gets it at once, the scope keeps the first one, and the log has it."""
    received: list[BaseException] = []
    scope = ThreadScope("scope")

    def fail() -> None:
        raise ZeroDivisionError("one")

    with caplog.at_level(logging.ERROR):
        scope.spawn("failing", fail, stop=lambda: None, on_error=received.append)
        wait_until(lambda: received, what="the error")
    assert scope.close(5_000) == []
    assert isinstance(received[0], ZeroDivisionError)
    assert scope.first_error() is received[0]
    assert "thread scope/failing died" in caplog.text


def test_a_scope_without_failures_has_no_error() -> None:
    """A thread that ended normally causes none."""
    scope = ThreadScope("scope")
    scope.spawn("fine", lambda: None, stop=lambda: None)
    assert scope.close(5_000) == []
    assert scope.first_error() is None


def test_a_thread_may_close_its_own_scope() -> None:
    """It does not wait for itself, and is the only one that still runs."""
    left: list[list[str]] = []
    scope = ThreadScope("scope")
    scope.spawn("own", lambda: left.append(scope.close(5_000)), stop=lambda: None)
    wait_until(lambda: left, what="the end")
    assert left == [["scope/own"]]


def test_ended_threads_are_forgotten() -> None:
    """A long-lived scope does not accumulate them."""
    scope = ThreadScope("scope")
    for _ in range(20):
        scoped = scope.spawn("short", lambda: None, stop=lambda: None)
        scoped.thread.join(5)
    assert len(scope._threads) == 1


def test_closing_does_not_need_the_lock() -> None:
    """A signal handler that closes may have interrupted a close that holds it."""
    scope, done = ThreadScope("scope"), threading.Event()
    helper = ThreadScope("helper")

    def close() -> None:
        scope.close(0)
        done.set()

    with scope._lock:
        helper.spawn("handler", close, stop=lambda: None)
        assert done.wait(5)
    assert helper.close(5_000) == []


def test_closing_waits_for_threads_that_start_meanwhile() -> None:
    """A thread that ends may start another one, which is stopped as well."""
    scope = ThreadScope("scope")
    parent: Mailbox[str] = Mailbox()
    child: Mailbox[str] = Mailbox()
    received: list[str | None] = []

    def spawn_child() -> None:
        parent.get()
        scope.spawn("child", lambda: received.append(child.get()), stop=lambda: child.put("stop"))

    scope.spawn("parent", spawn_child, stop=lambda: parent.put("stop"))
    assert scope.close(5_000) == []
    assert received == ["stop"]


def test_a_long_signal_handler_does_not_make_a_wait_endless() -> None:
    """It may take longer than the rest of the wait, which has its time-out nevertheless."""
    mailbox: Mailbox[int] = Mailbox()
    before = signal.signal(signal.SIGALRM, lambda _number, _frame: wait_ms(150))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert mailbox.get(100) is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    mailbox.put(1)
    assert mailbox.get(100) == 1


# --- concurrent calls ----------------------------------------------------------------------------


def test_calls_run_concurrently() -> None:
    """Results come in the order of the calls; each thread takes the next one."""
    barrier = threading.Barrier(3, timeout=10)

    def call(number: int) -> int:
        barrier.wait()
        return number

    found = side_by_side("test", [partial(call, number) for number in range(6)], threads=3)
    assert found == list(range(6))
    assert side_by_side("test", [], threads=3) == []


def test_the_first_error_of_calls_is_raised_when_all_have_ended() -> None:
    """A call that fails does not keep the others from running."""
    done: list[int] = []

    def call(number: int) -> None:
        done.append(number)
        if number in (1, 2):
            raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        side_by_side("test", [partial(call, number) for number in range(4)], threads=2)
    assert sorted(done) == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no")])
def test_no_results_are_returned_if_a_call_failed(error: BaseException) -> None:
    """Any exception ends all, SystemExit included."""

    def fail() -> int:
        raise error

    with pytest.raises(type(error), match="no"):
        side_by_side("test", [lambda: 1, fail, lambda: 3], threads=1)


@pytest.mark.parametrize("most", [0, 1])
def test_calls_are_made_by_the_threads_that_can_be_started(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The system may have no more of them."""
    started: list[str] = []
    spawn = ThreadScope.spawn

    def spawn_few(
        scope: ThreadScope, role: str, run: Callable[[], None], *, stop: Callable[[], None]
    ) -> ScopedThread:
        if len(started) == most:
            raise RuntimeError("can't start new thread")
        started.append(role)
        return spawn(scope, role, run, stop=stop)

    monkeypatch.setattr(ThreadScope, "spawn", spawn_few)
    calls = [lambda: 1, lambda: 2]
    if most:
        assert side_by_side("test", calls, threads=2) == [1, 2]
    else:
        with pytest.raises(RuntimeError, match="can't start"):
            side_by_side("test", calls, threads=2)
