"""ZooKeeper sessions: how they end, which events they report, and what they fence."""

import threading

import pytest

from tests.support.waiting import wait_until
from tests.support.zk_members import SeenEvents
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import CreateOp, ZkStore


def test_closing_a_client_deletes_its_ephemeral_nodes(store: ZkStore, other: ZkStore) -> None:
    """Its ephemeral nodes are deleted at once, and watches on them fire."""
    seen = SeenEvents()
    other.create("/mine", b"", ephemeral=True)
    other.create("/kept", b"", ephemeral=False)
    store.exists_many(["/mine"], watch=seen)
    other.close()
    wait_until(lambda: seen.events, what="the ephemeral node's end")
    assert seen.events == [("/mine", "DELETED")]
    assert [stat is None for stat in store.exists_many(["/mine", "/kept"])] == [True, False]


def test_calls_of_a_closed_client_raise(store: ZkStore) -> None:
    """Every call raises an error that says so; closing again does nothing."""
    store.close()
    store.close()
    assert not store.connected
    with pytest.raises(RegistryError, match="closed"):
        store.get_many(["/a"])
    with pytest.raises(RegistryError, match="closed"):
        store.create("/a", b"", ephemeral=True)


def test_an_expired_session_is_reported_by_its_own_id(world: ZkWorld, store: ZkStore) -> None:
    """LOST has the id of the ended session, CONNECTED the new one; ephemeral nodes are gone."""
    events: list[SessionEvent] = []
    store.on_session(events.append)
    old_id = store.session_id
    store.create("/mine", b"", ephemeral=True)
    world.expire(store)
    assert store.session_id != old_id
    assert events == [
        SessionEvent(SessionState.SUSPENDED, old_id),
        SessionEvent(SessionState.LOST, old_id),
        SessionEvent(SessionState.CONNECTED, store.session_id),
    ]
    assert store.get_many(["/mine"]) == [None]


def test_a_write_meant_for_an_ended_session_is_refused(world: ZkWorld, store: ZkStore) -> None:
    """A write for a session that ended is refused, so that it can't land in the next one."""
    old_id = store.session_id
    world.expire(store)
    with pytest.raises(SessionLost):
        store.write_many([CreateOp("/late", b"", ephemeral=True)], session_id=old_id)
    with pytest.raises(SessionLost):
        store.set_or_create_many({"/late": b""}, session_id=old_id)
    with pytest.raises(SessionLost):
        store.multi([CreateOp("/late", b"")], session_id=old_id)
    assert store.create("/late", b"", ephemeral=True)


def test_a_disconnected_client_fails_in_time_and_keeps_its_session(
    world: ZkWorld, store: ZkStore, other: ZkStore
) -> None:
    """Calls raise while disconnected; after the reconnect the session and its nodes remain."""
    events: list[SessionEvent] = []
    store.on_session(events.append)
    session_id = store.session_id
    store.create("/mine", b"", ephemeral=True)
    world.disconnect(store)
    with pytest.raises(RegistryError) as caught:
        store.create("/too-late", b"", ephemeral=False)
    assert not isinstance(caught.value, SessionLost)
    world.reconnect(store)
    assert store.session_id == session_id
    assert events == [
        SessionEvent(SessionState.SUSPENDED, session_id),
        SessionEvent(SessionState.CONNECTED, session_id),
    ]
    assert [stat is None for stat in other.exists_many(["/mine", "/too-late"])] == [False, True]
    assert store.create("/again", b"", ephemeral=False)


def test_watches_do_not_survive_a_broken_connection(
    world: ZkWorld, store: ZkStore, other: ZkStore
) -> None:
    """Watches are gone after a reconnect, even in the same session, and must be set again."""
    before = SeenEvents()
    after = SeenEvents()
    store.create("/w", b"1", ephemeral=False)
    store.get_many(["/w"], watch=before)
    world.disconnect(store)
    world.reconnect(store)
    store.get_many(["/w"], watch=after)
    other.set_or_create_many({"/w": b"2"})
    wait_until(lambda: after.events, what="the watch left after the reconnect")
    assert before.events == []


def test_every_session_listener_gets_every_event(world: ZkWorld, store: ZkStore) -> None:
    """Every session listener gets every event."""
    threads: set[int] = set()
    received: list[SessionState] = []
    store.on_session(lambda event: received.append(event.state))
    store.on_session(lambda _: threads.add(threading.get_ident()))
    world.disconnect(store)
    world.reconnect(store)
    wait_until(lambda: len(received) == 2, what="both events")
    assert received == [SessionState.SUSPENDED, SessionState.CONNECTED]
    assert threads


def test_the_granted_session_timeout_is_known(store: ZkStore) -> None:
    """The store has the session timeout that the server granted."""
    assert 0 < store.negotiated_timeout_ms <= 60_000
