"""Watches are one-shot, work on missing nodes, and call the same function once."""

from tests.support.waiting import wait_until
from tests.support.zk_members import SeenEvents
from zkconsumer.zk.store import ZkStore


def test_a_watch_sees_one_change_of_a_node(store: ZkStore, other: ZkStore) -> None:
    """The first change calls the watch; later changes do not."""
    seen = SeenEvents()
    store.create("/w", b"1", ephemeral=False)
    assert store.get_many(["/w"], watch=seen) != [None]
    other.set_or_create_many({"/w": b"2"})
    wait_until(lambda: seen.events, what="the watch")
    other.set_or_create_many({"/w": b"3"})
    later = SeenEvents()
    store.get_many(["/w"], watch=later)
    other.delete_many(["/w"])
    wait_until(lambda: later.events, what="the later watch")
    assert seen.events == [("/w", "CHANGED")]
    assert later.events == [("/w", "DELETED")]


def test_a_read_of_a_missing_node_watches_for_its_creation(store: ZkStore, other: ZkStore) -> None:
    """``get_many`` and ``exists_many`` of a missing node set a watch on its creation."""
    seen = SeenEvents()
    assert store.get_many(["/late/a"], watch=seen) == [None]
    assert store.exists_many(["/late/b"], watch=seen) == [None]
    other.set_or_create_many({"/late/a": b"", "/late/b": b""})
    wait_until(lambda: len(seen.events) == 2, what="both watches")
    assert sorted(seen.events) == [("/late/a", "CREATED"), ("/late/b", "CREATED")]


def test_a_child_watch_sees_children_come_and_go(store: ZkStore, other: ZkStore) -> None:
    """A child watch fires at the next change of the children, not at changes of the data."""
    came, went = SeenEvents(), SeenEvents()
    store.ensure_paths(["/c"])
    store.children_many(["/c"], watch=came)
    other.set_or_create_many({"/c": b"data"})
    other.create("/c/x", b"", ephemeral=False)
    wait_until(lambda: came.events, what="word of the new child")
    store.children_many(["/c"], watch=went)
    other.delete_many(["/c/x"])
    wait_until(lambda: went.events, what="word of the lost child")
    assert came.events == [("/c", "CHILD")]
    assert went.events == [("/c", "CHILD")]


def test_a_child_watch_on_a_missing_node_waits_for_it(store: ZkStore, other: ZkStore) -> None:
    """A child watch on a missing node fires when the node is created."""
    seen = SeenEvents()
    assert store.children_many(["/c/late"], watch=seen) == [None]
    other.ensure_paths(["/c/late"])
    wait_until(lambda: seen.events, what="the watch on the missing node")
    assert seen.events == [("/c/late", "CREATED")]


def test_a_watch_that_was_set_several_times_is_called_once(store: ZkStore, other: ZkStore) -> None:
    """Several reads with the same watch lead to one call."""
    seen = SeenEvents()
    fence_seen = SeenEvents()
    store.create("/w", b"", ephemeral=False)
    for _ in range(3):
        store.get_many(["/w"], watch=seen)
    store.get_many(["/w"], watch=fence_seen)
    other.set_or_create_many({"/w": b"2"})
    wait_until(lambda: seen.events and fence_seen.events, what="both watches")
    last = SeenEvents()
    store.exists_many(["/w"], watch=last)
    other.set_or_create_many({"/w": b"3"})
    wait_until(lambda: last.events, what="a later event, behind all earlier ones")
    assert seen.events == [("/w", "CHANGED")]
