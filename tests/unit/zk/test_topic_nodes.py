"""The transaction id with which a topic's node was created."""

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.zk.topic_nodes import topic_czxids


def test_recreated_topics_have_another_transaction_id() -> None:
    """A recreated topic has a larger transaction id, and a missing one has none."""
    store = MemoryZkServer().connect()
    store.ensure_paths(["/brokers/topics"])
    store.create("/brokers/topics/t", b"", ephemeral=False)
    first = topic_czxids(store, ["t", "none", "t"])
    assert set(first) == {"t"}
    store.delete_many(["/brokers/topics/t"])
    store.create("/brokers/topics/t", b"", ephemeral=False)
    assert topic_czxids(store, ["t"])["t"] > first["t"]


def test_names_that_no_topic_can_have_are_not_looked_up() -> None:
    """Names that no topic can have are not looked up, and need no ZooKeeper."""
    server = MemoryZkServer()
    store = server.connect()
    server.disconnect(store.session_id)
    store.requests.clear()
    assert topic_czxids(store, ["", "a/b", ".."]) == {}
    assert store.requests.total() == 0
