"""Which transaction created a topic's node."""

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.zk.topic_nodes import topic_czxids


def test_topics_are_told_apart_by_what_created_them() -> None:
    """One that was made anew has another one; what is none has none."""
    store = MemoryZkServer().connect()
    store.ensure_paths(["/brokers/topics"])
    store.create("/brokers/topics/t", b"", ephemeral=False)
    first = topic_czxids(store, ["t", "none", "t"])
    assert set(first) == {"t"}
    store.delete_many(["/brokers/topics/t"])
    store.create("/brokers/topics/t", b"", ephemeral=False)
    assert topic_czxids(store, ["t"])["t"] > first["t"]


def test_names_that_no_topic_can_have_are_not_asked_for() -> None:
    """Not even ZooKeeper needs to be there."""
    server = MemoryZkServer()
    store = server.connect()
    server.disconnect(store.session_id)
    store.requests.clear()
    assert topic_czxids(store, ["", "a/b", ".."]) == {}
    assert store.requests.total() == 0
