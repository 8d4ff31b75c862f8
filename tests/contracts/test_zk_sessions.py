"""What sessions must do: their ends, their events, and what is fenced by them."""

import threading

import pytest

from tests.support.waiting import wait_until
from tests.support.zk_members import SeenEvents
from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import CreateOp, ZkStore


def test_closing_a_client_takes_its_ephemeral_nodes_along(store: ZkStore, other: ZkStore) -> None:
    """They vanish at once, and whoever watches is told."""
    seen = SeenEvents()
    other.create("/mine", b"", ephemeral=True)
    other.create("/kept", b"", ephemeral=False)
    store.exists_many(["/mine"], watch=seen)
    other.close()
    wait_until(lambda: seen.events, what="the ephemeral node's end")
    assert seen.events == [("/mine", "DELETED")]
    assert [stat is None for stat in store.exists_many(["/mine", "/kept"])] == [True, False]


def test_a_closed_client_answers_with_an_error(store: ZkStore) -> None:
    """Every call fails clearly, and closing again does nothing."""
    store.close()
    store.close()
    assert not store.connected
    with pytest.raises(RegistryError, match="closed"):
        store.get_many(["/a"])
    with pytest.raises(RegistryError, match="closed"):
        store.create("/a", b"", ephemeral=True)


def test_an_expired_session_is_reported_by_its_own_id(world: ZkWorld, store: ZkStore) -> None:
    """LOST carries the id that ended, CONNECTED the id in force; the old ephemerals are gone."""
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
    """The fence keeps what was decided in one session out of the next."""
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
    """Calls end in an error; after the reconnect the session and its nodes are the same."""
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
    """Even in the same session they are gone: after CONNECTED one must read and watch again."""
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


def test_listeners_may_be_added_by_any_thread_and_all_hear(world: ZkWorld, store: ZkStore) -> None:
    """Every listener hears every event, and none on the thread that may be inside of a call."""
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
    """Whatever was asked for, what the server granted is told."""
    assert 0 < store.negotiated_timeout_ms <= 60_000
