"""Which session is in force, and what may be sent into it."""

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.session_tracker import SessionTracker

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


@pytest.fixture
def tracker() -> SessionTracker:
    """A tracker before the first connect."""
    return SessionTracker("zk:2181", ManualClock())


def test_events_carry_the_session_they_are_about(tracker: SessionTracker) -> None:
    """The loss of a session names it though a new one is about to come."""
    events: list[SessionEvent] = []
    tracker.add(events.append)
    tracker.report(CONNECTED, 7)
    tracker.report(SUSPENDED)
    tracker.report(LOST)
    assert tracker.session_id == 7
    tracker.report(CONNECTED, 8)
    assert tracker.session_id == 8
    assert events == [
        SessionEvent(CONNECTED, 7),
        SessionEvent(SUSPENDED, 7),
        SessionEvent(LOST, 7),
        SessionEvent(CONNECTED, 8),
    ]


def test_nothing_is_told_before_there_is_a_session(tracker: SessionTracker) -> None:
    """A failed first connect is no loss of anything."""
    events: list[SessionEvent] = []
    tracker.add(events.append)
    tracker.report(SUSPENDED)
    tracker.report(LOST)
    assert events == []
    assert not tracker.connected


def test_requests_go_into_their_session_only(tracker: SessionTracker) -> None:
    """While connected in it they pass; suspended they fail; in the next session they are lost."""
    tracker.report(CONNECTED, 7)
    assert tracker.send(7, lambda: "sent") == "sent"
    tracker.report(SUSPENDED)
    with pytest.raises(RegistryError, match="connection to ZooKeeper zk:2181 lost"):
        tracker.send(7, lambda: "sent")
    tracker.report(LOST)
    with pytest.raises(SessionLost, match="session 0x7 has ended"):
        tracker.send(7, lambda: "sent")
    tracker.report(CONNECTED, 8)
    with pytest.raises(SessionLost, match="session 0x7 has ended"):
        tracker.send(7, lambda: "sent")
    assert tracker.send(8, lambda: "sent") == "sent"


def test_waiting_for_a_connection_ends_with_the_time(tracker: SessionTracker) -> None:
    """With the servers named."""
    with pytest.raises(RegistryError, match="no connection to ZooKeeper zk:2181"):
        tracker.await_connected(None, deadline_ms=1_000)


def test_closed_it_lets_nothing_through_and_tells_nobody(tracker: SessionTracker) -> None:
    """The session's end by our own will is no news."""
    events: list[SessionEvent] = []
    tracker.report(CONNECTED, 7)
    tracker.add(events.append)
    assert tracker.close()
    assert not tracker.close()
    tracker.report(LOST)
    assert events == []
    assert not tracker.connected
    with pytest.raises(RegistryError, match="closed"):
        tracker.send(7, lambda: "sent")


def test_a_client_beyond_help_says_why(tracker: SessionTracker) -> None:
    """Every call fails with the reason, none waits."""
    tracker.report(CONNECTED, 7)
    tracker.report(LOST)
    tracker.fail("the client stopped")
    with pytest.raises(RegistryError, match="the client stopped"):
        tracker.await_connected(None, deadline_ms=10**9)
