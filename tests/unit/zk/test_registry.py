"""The group registry: the session that its writes are fenced by, and clock skew."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import InterferedStore
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.registry import GroupRegistry

REGISTRATION = Registration(subscription={"t": 1}, timestamp_ms=1)


def test_writes_are_fenced_by_the_session_of_the_registration() -> None:
    """Writes are fenced by the registration's session, or by the current one before that."""
    server = MemoryZkServer()
    store = server.connect()
    registry = GroupRegistry(store, "g")
    assert registry.session_id == store.session_id
    first = store.session_id
    registry.register("g_a", REGISTRATION)
    server.expire(first)
    assert registry.session_id == first
    with pytest.raises(SessionLost):
        registry.claim({TopicPartition("t", 0): ConsumerThreadId("g_a", 0)})
    assert registry.register("g_a", REGISTRATION) is None
    assert registry.session_id == store.session_id != first


def test_a_registration_can_be_bound_to_a_session() -> None:
    """A registration for an ended session is not written into the next one."""
    server = MemoryZkServer()
    store = server.connect()
    registry = GroupRegistry(store, "g")
    ended = store.session_id
    server.expire(ended)
    with pytest.raises(SessionLost):
        registry.register("g_a", REGISTRATION, session_id=ended)
    assert store.children_many(["/consumers/g/ids"]) == [[]]
    in_force = store.session_id
    assert registry.register("g_a", REGISTRATION, session_id=in_force) is None


def test_unregistering_after_the_session_ended_touches_nothing() -> None:
    """After its session ended unregistering deletes nothing, not even our next session's node."""
    server = MemoryZkServer()
    store = server.connect()
    registry = GroupRegistry(store, "g")
    registry.register("g_a", REGISTRATION)
    server.expire(store.session_id)
    GroupRegistry(store, "g").register("g_a", REGISTRATION)
    assert not registry.unregister("g_a")
    assert store.children_many(["/consumers/g/ids"]) == [["g_a"]]


def test_a_registration_whose_reply_was_lost_can_be_repeated() -> None:
    """A registration whose reply was lost can be repeated: the node is there, and is ours."""
    store = MemoryZkServer().connect()
    store.ensure_paths(["/consumers/g/ids"])
    registry = GroupRegistry(store, "g")
    registry.register("g_a", REGISTRATION)
    registry.unregister("g_a")
    store.lose_replies(2)
    for _ in range(2):
        with pytest.raises(RegistryError):
            registry.register("g_a", REGISTRATION)
    assert registry.register("g_a", REGISTRATION) is None


def test_a_node_that_can_not_be_written_ends_the_attempt() -> None:
    """Registering ends with an error if the node can never be written."""
    server = MemoryZkServer()
    store = server.connect()
    store.ensure_paths(["/consumers/g"])
    store.create("/consumers/g/ids", b"", ephemeral=True)
    with pytest.raises(RegistryError, match="/consumers/g/ids/g_a could not be written"):
        GroupRegistry(store, "g").register("g_a", REGISTRATION)


def test_a_registration_that_flickers_for_ever_ends_the_attempt() -> None:
    """Registering ends with an error if a node is always in the way, and gone when it is read."""
    server = MemoryZkServer()
    other, tries = server.connect(), list[int]()
    path = "/consumers/g/ids/g_a"

    def flicker(kind: str, number: int) -> None:
        if kind == "write" and number >= 1:  # after the parents
            other.ensure_paths(["/consumers/g/ids"])
            other.create(path, b"", ephemeral=True)
            tries.append(number)
        if kind == "get":
            other.delete_many([path])

    store = InterferedStore(server.connect(), flicker)
    with pytest.raises(RegistryError, match=f"{path} appeared and disappeared 5 times"):
        GroupRegistry(store, "g").register("g_a", REGISTRATION)
    assert len(tries) == 5
