"""Mailboxes, and threads with an owner."""

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
def test_naps_add_up_to_the_wait(timeout_ms: int) -> None:
    """At least one nap, none longer than half a second."""
    cut = list(naps(timeout_ms))
    assert sum(cut) == max(0, timeout_ms)
    assert cut
    assert max(cut) <= 500


def test_a_wait_without_end_naps_for_ever() -> None:
    """So that a signal which came too late to end the wait is handled half a second later."""
    assert list(itertools.islice(naps(None), 100)) == [500] * 100


def test_an_empty_box_gives_none_after_the_time() -> None:
    """Without waiting for 0 and below, after a moment else."""
    box: Mailbox[int] = Mailbox()
    assert box.get(0) is None
    assert box.get(-1) is None
    assert box.get(5) is None


def test_an_item_that_is_false_is_still_an_item() -> None:
    """Zero is not nothing."""
    box: Mailbox[int] = Mailbox()
    box.put(0)
    assert box.get(None) == 0


def test_draining_takes_what_is_there() -> None:
    """In order, and leaves nothing."""
    box: Mailbox[int] = Mailbox()
    assert box.drain() == []
    box.put(1)
    box.put(2)
    assert box.drain() == [1, 2]
    assert box.get(0) is None


def test_a_waiting_thread_is_woken() -> None:
    """By an item that comes from another thread."""
    box: Mailbox[str] = Mailbox()
    got: list[str | None] = []
    scope = ThreadScope("box")
    scope.spawn("reader", lambda: got.append(box.get(None)), stop=lambda: box.put("stop"))
    box.put("item")
    wait_until(lambda: got == ["item"], what="the item")
    assert scope.close(5_000) == []


def waiting_for(event: threading.Event) -> Callable[[], None]:
    """A thread's body that ends with this event."""

    def run() -> None:
        event.wait(10)

    return run


# --- scopes --------------------------------------------------------------------------------------


def test_a_thread_bears_the_names_of_scope_and_role() -> None:
    """So that a stack dump tells whose it is; it never keeps the process alive."""
    names: list[tuple[str, bool]] = []

    def run() -> None:
        thread = threading.current_thread()
        names.append((thread.name, thread.daemon))

    scope = ThreadScope("group/member")
    scope.spawn("fetcher", run, stop=lambda: None)
    assert scope.close(5_000) == []
    assert names == [("group/member/fetcher", True)]


def test_closing_asks_all_before_it_waits_for_any() -> None:
    """Two threads of which one ends only after the other was asked."""
    one, two = threading.Event(), threading.Event()
    scope = ThreadScope("scope")
    scope.spawn("first", waiting_for(two), stop=one.set)
    scope.spawn("second", waiting_for(one), stop=two.set)
    assert scope.close(5_000) == []


def test_closing_names_what_still_runs_when_the_time_is_over() -> None:
    """It does not wait for ever; closed again later, nothing is left."""
    end = threading.Event()
    scope = ThreadScope("scope")
    scope.spawn("stubborn", waiting_for(end), stop=lambda: None)
    assert scope.close(10) == ["scope/stubborn"]
    end.set()
    assert scope.close(5_000) == []


def test_the_time_is_for_all_threads_together() -> None:
    """Not for each of them."""
    clock = ManualClock()
    clock.step_ms = 60  # every look at the clock takes longer than the time that is left
    end = threading.Event()
    scope = ThreadScope("scope", clock=clock)
    for number in range(5):
        scope.spawn(f"stubborn-{number}", waiting_for(end), stop=lambda: None)
    assert len(scope.close(50)) == 5
    end.set()
    assert scope.close(60_000) == []


def test_an_error_is_heard_by_its_owner(caplog: pytest.LogCaptureFixture) -> None:
    """At once by whoever asked, later from the scope, and in the log; the first one counts."""
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
    """Nothing to hear."""
    scope = ThreadScope("scope")
    scope.spawn("fine", lambda: None, stop=lambda: None)
    assert scope.close(5_000) == []
    assert scope.first_error() is None


def test_a_thread_may_close_its_own_scope() -> None:
    """It does not wait for itself; only it is still running then."""
    left: list[list[str]] = []
    scope = ThreadScope("scope")
    scope.spawn("own", lambda: left.append(scope.close(5_000)), stop=lambda: None)
    wait_until(lambda: left, what="the end")
    assert left == [["scope/own"]]


def test_ended_threads_are_forgotten() -> None:
    """A scope that lives long does not gather them."""
    scope = ThreadScope("scope")
    for _ in range(20):
        scoped = scope.spawn("short", lambda: None, stop=lambda: None)
        scoped.thread.join(5)
    assert len(scope._threads) == 1


def test_closing_needs_no_lock_that_an_interrupted_close_could_hold() -> None:
    """A signal handler that shuts down may interrupt a shutdown anywhere."""
    scope, done = ThreadScope("scope"), threading.Event()
    helper = ThreadScope("helper")

    def close() -> None:
        scope.close(0)
        done.set()

    with scope._lock:
        helper.spawn("handler", close, stop=lambda: None)
        assert done.wait(5)
    assert helper.close(5_000) == []


def test_a_thread_that_another_one_starts_while_it_ends_is_waited_for() -> None:
    """Closing leaves no thread behind, whenever it was started."""
    scope = ThreadScope("scope")
    parent: Mailbox[str] = Mailbox()
    child: Mailbox[str] = Mailbox()
    received: list[str | None] = []

    def bear() -> None:
        parent.get()
        scope.spawn("child", lambda: received.append(child.get()), stop=lambda: child.put("stop"))

    scope.spawn("parent", bear, stop=lambda: parent.put("stop"))
    assert scope.close(5_000) == []
    assert received == ["stop"]


def test_a_long_signal_handler_does_not_make_a_wait_endless() -> None:
    """One that takes longer than what is left of the wait, which has its time-out all the same."""
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


# --- calls side by side --------------------------------------------------------------------------


def test_calls_run_side_by_side() -> None:
    """Results come in the order of the calls; each thread takes the next one."""
    barrier = threading.Barrier(3, timeout=10)

    def call(number: int) -> int:
        barrier.wait()
        return number

    found = side_by_side("test", [partial(call, number) for number in range(6)], threads=3)
    assert found == list(range(6))
    assert side_by_side("test", [], threads=3) == []


def test_the_first_error_of_calls_is_raised_when_all_have_ended() -> None:
    """What one of them could not do does not keep the others from it."""
    done: list[int] = []

    def call(number: int) -> None:
        done.append(number)
        if number in (1, 2):
            raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        side_by_side("test", [partial(call, number) for number in range(4)], threads=2)
    assert sorted(done) == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no")])
def test_no_result_takes_the_place_of_a_call_that_failed(error: BaseException) -> None:
    """Whatever ended it."""

    def fail() -> int:
        raise error

    with pytest.raises(type(error), match="no"):
        side_by_side("test", [lambda: 1, fail, lambda: 3], threads=1)


@pytest.mark.parametrize("most", [0, 1])
def test_calls_are_made_by_the_threads_that_can_be_started(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Where the system has no more of them."""
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
