"""Which session is in force, and what may be sent in it, on real threads."""

import threading

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import SessionLost
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.session import SessionState
from zkconsumer.zk.session_tracker import SessionTracker

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


@pytest.fixture
def tracker() -> SessionTracker:
    """A tracker before the first connect."""
    return SessionTracker("zk:2181", ManualClock())


def test_a_waiting_thread_goes_on_as_soon_as_there_is_a_connection() -> None:
    """It does not wait until its time-out."""
    tracker = SessionTracker("zk:2181", SystemClock())
    tracker.report(CONNECTED, 7)
    tracker.report(SUSPENDED)
    done = threading.Event()

    def wait() -> None:
        tracker.await_connected(7, SystemClock().now_ms() + 60_000)
        done.set()

    scope = ThreadScope("test")
    scope.spawn("waiter", wait, stop=lambda: None)
    tracker.report(CONNECTED, 7)
    assert done.wait(10)
    assert scope.close(10_000) == []


def test_a_waiting_thread_learns_that_its_session_is_over() -> None:
    """It gets SessionLost instead of waiting for a session that can't come back."""
    tracker = SessionTracker("zk:2181", SystemClock())
    tracker.report(CONNECTED, 7)
    tracker.report(SUSPENDED)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            tracker.await_connected(7, SystemClock().now_ms() + 60_000)
        except SessionLost as error:
            caught.append(error)

    scope = ThreadScope("test")
    scope.spawn("waiter", wait, stop=lambda: None)
    tracker.report(LOST)
    wait_until(lambda: caught, what="the waiter to learn of the loss")
    assert scope.close(10_000) == []
