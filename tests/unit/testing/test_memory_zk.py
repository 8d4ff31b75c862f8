"""What only the in-memory ZooKeeper can do: delayed events, counted requests, lost replies."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import CreateOp

Seen = list[tuple[str, str]]


def test_queued_events_wait_until_they_are_delivered() -> None:
    """A change is visible at once; with queued delivery its event comes when the test says so."""
    server = MemoryZkServer(delivery="queued")
    store, other = server.connect(), server.connect()
    seen: Seen = []
    store.exists_many(["/a", "/b"], watch=lambda path, event: seen.append((path, event)))
    other.ensure_paths(["/a", "/b"])
    assert store.exists_many(["/a"]) != [None]
    assert seen == []
    assert [events.what for events in server.pending] == ["CREATED /a", "CREATED /b"]
    assert server.deliver(1)
    assert seen == [("/b", "CREATED")]
    assert server.deliver_all() == 1
    assert not server.deliver()
    assert seen == [("/b", "CREATED"), ("/a", "CREATED")]


def test_a_client_can_be_in_its_next_session_before_it_learns_of_the_loss() -> None:
    """As with a real ZooKeeper, only session ids tell which session an event is about."""
    server = MemoryZkServer(delivery="queued")
    store = server.connect()
    events: list[SessionEvent] = []
    store.on_session(events.append)
    old_id = store.session_id
    server.expire(old_id)
    assert store.session_id != old_id
    assert store.create("/new", b"", ephemeral=True)
    assert events == []
    server.deliver_all()
    assert [event.state for event in events] == ["SUSPENDED", "LOST", "CONNECTED"]
    assert [event.session_id for event in events] == [old_id, old_id, store.session_id]


def test_a_session_may_expire_while_its_client_is_away() -> None:
    """When a session expires while its client is disconnected, others see its nodes go at once.

    The client learns of it when it reconnects.
    """
    server = MemoryZkServer()
    store, other = server.connect(), server.connect()
    events: list[SessionEvent] = []
    store.on_session(events.append)
    store.create("/mine", b"", ephemeral=True)
    old_id = store.session_id
    server.disconnect(old_id)
    server.expire(old_id)
    assert other.exists_many(["/mine"]) == [None]
    assert store.session_id == old_id
    with pytest.raises(RegistryError):
        store.get_many(["/"])
    new_id = server.reconnect(old_id)
    assert new_id == store.session_id != old_id
    assert events == [
        SessionEvent(SessionState.SUSPENDED, old_id),
        SessionEvent(SessionState.LOST, old_id),
        SessionEvent(SessionState.CONNECTED, new_id),
    ]
    with pytest.raises(SessionLost):
        store.write_many([CreateOp("/mine", b"", ephemeral=True)], session_id=old_id)


def test_requests_are_counted_by_kind() -> None:
    """A transaction counts as one request, a pipelined batch as many."""
    store = MemoryZkServer().connect()
    store.ensure_paths(["/a"])
    store.requests.clear()
    store.get_many(["/a", "/b", "/c"])
    store.multi([CreateOp("/a/x", b""), CreateOp("/a/y", b"")])
    assert store.requests == {"get": 3, "multi": 1}


def test_a_lost_reply_hides_that_the_write_succeeded() -> None:
    """When a reply is lost the write has happened, and its author gets an error."""
    store = MemoryZkServer().connect()
    store.lose_replies()
    with pytest.raises(RegistryError, match="before the answer came"):
        store.write_many([CreateOp("/a", b"")])
    assert store.exists_many(["/a"]) != [None]


def test_an_unknown_session_is_an_error() -> None:
    """An unknown session id is an error, as the test must have a mistake."""
    with pytest.raises(KeyError):
        MemoryZkServer().expire(7)


def test_node_times_come_from_the_test() -> None:
    """Nodes get their times from the test's clock, in milliseconds."""
    now_ms = 1_000
    server = MemoryZkServer(wall_ms=lambda: now_ms)
    store = server.connect()
    store.create("/a", b"", ephemeral=False)
    now_ms = 2_000
    store.set_or_create_many({"/a": b"x"})
    stat = store.exists_many(["/a"])[0]
    assert stat is not None
    assert (stat.ctime_ms, stat.mtime_ms, stat.version) == (1_000, 2_000, 1)
