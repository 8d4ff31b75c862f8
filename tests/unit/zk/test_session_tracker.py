"""Which ZooKeeper session is current, and which requests may be sent in it."""

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.session_tracker import SessionTracker

CONNECTED, SUSPENDED, LOST = SessionState.CONNECTED, SessionState.SUSPENDED, SessionState.LOST


@pytest.fixture
def tracker() -> SessionTracker:
    """Create a tracker that was never connected."""
    return SessionTracker("zk:2181", ManualClock())


def test_events_have_the_id_of_their_session(tracker: SessionTracker) -> None:
    """A session's events have its id, also its loss, when the next one is about to start."""
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


def test_there_are_no_events_before_there_is_a_session(tracker: SessionTracker) -> None:
    """A failed first connection is no loss of a session, and no event."""
    events: list[SessionEvent] = []
    tracker.add(events.append)
    tracker.report(SUSPENDED)
    tracker.report(LOST)
    assert events == []
    assert not tracker.connected


def test_requests_are_sent_in_their_session_only(tracker: SessionTracker) -> None:
    """A request is sent in its own session only: suspended it fails, afterwards it is lost."""
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


def test_waiting_for_a_connection_ends_at_the_deadline(tracker: SessionTracker) -> None:
    """Waiting for a connection ends at the deadline with an error that names the servers."""
    with pytest.raises(RegistryError, match="no connection to ZooKeeper zk:2181"):
        tracker.await_connected(None, deadline_ms=1_000)


def test_a_closed_tracker_sends_nothing_and_has_no_events(tracker: SessionTracker) -> None:
    """A closed tracker sends nothing, and its session's end is no event."""
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


def test_after_a_final_failure_calls_raise_the_reason(tracker: SessionTracker) -> None:
    """After a final failure every call raises its reason, without waiting."""
    tracker.report(CONNECTED, 7)
    tracker.report(LOST)
    tracker.fail("the client stopped")
    with pytest.raises(RegistryError, match="the client stopped"):
        tracker.await_connected(None, deadline_ms=10**9)
