"""Groups are deleted from ZooKeeper unless they have live members."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.support.manual_clock import ManualClock
from zkconsumer.cli.formats.group_command import Deletion
from zkconsumer.cli.groups import removal as group_removal
from zkconsumer.cli.groups.removal import GroupRemoval, delete_coordinated
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, RegistryError
from zkconsumer.model import Broker
from zkconsumer.wire.messages.group_admin import (
    DeletedGroup,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from zkconsumer.zk.store import MultiResult, Op


@pytest.fixture
def server() -> MemoryZkServer:
    """A ZooKeeper with two groups."""
    server = MemoryZkServer()
    nodes = {
        f"/consumers/g/{kind}/{topic}/0": b"1" for kind in ("offsets", "owners") for topic in "tu"
    }
    server.connect().set_or_create_many(
        {**nodes, "/consumers/g/ids": b"", "/consumers/g2/offsets/t/0": b"9"}
    )
    return server


@pytest.fixture
def store(server: MemoryZkServer) -> MemoryZkStore:
    """A client of that ZooKeeper."""
    return server.connect()


def below(store: MemoryZkStore, path: str = "/consumers/g") -> list[str]:
    """Return all nodes below a path."""
    names = store.children_many([path])[0]
    return [
        node for name in names or () for node in (f"{path}/{name}", *below(store, f"{path}/{name}"))
    ]


def test_a_group_is_deleted_as_a_whole(store: MemoryZkStore) -> None:
    """Other groups stay; a second deletion finds no group."""
    assert GroupRemoval(store, "g").everything() is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g2"]]
    assert GroupRemoval(store, "g").everything() is Deletion.NO_GROUP


def test_a_group_without_a_node_for_members_is_deleted(store: MemoryZkStore) -> None:
    """A tool may have set offsets of a group that never had members."""
    assert GroupRemoval(store, "g2").everything() is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g"]]


def test_one_topic_of_a_group_is_deleted(store: MemoryZkStore) -> None:
    """The rest stays until the last owned topic is deleted."""
    removal = GroupRemoval(store, "g")
    assert removal.topics() == {"t", "u"}
    assert removal.topic("t") is Deletion.DONE
    assert below(store) == [
        "/consumers/g/ids",
        "/consumers/g/offsets",
        "/consumers/g/offsets/u",
        "/consumers/g/offsets/u/0",
        "/consumers/g/owners",
        "/consumers/g/owners/u",
        "/consumers/g/owners/u/0",
    ]
    assert removal.topic("u") is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g2"]]


def test_offsets_of_other_topics_stay(store: MemoryZkStore) -> None:
    """Offsets of topics that are not owned stay, too; the original silently deletes them."""
    store.delete_many(["/consumers/g/owners/u/0", "/consumers/g/owners/u"])
    assert GroupRemoval(store, "g").topic("t") is Deletion.DONE
    assert "/consumers/g/offsets/u/0" in below(store)
    store.set_or_create_many({"/consumers/g/owners/t": b""})
    assert GroupRemoval(store, "g").topic_as_original("t") is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g2"]]


def test_deleting_a_live_group_is_an_error(store: MemoryZkStore) -> None:
    """The error names the members to stop; a group that never existed is no error."""
    store.create("/consumers/g/ids/g_host-1", b"{}", ephemeral=True)
    removal = GroupRemoval(store, "g")
    with pytest.raises(RegistryError, match=r"group g can't be deleted.*stop g_host-1 first"):
        removal.everything_unless_live()
    assert removal.exists()
    assert removal.has_offsets()
    unused = GroupRemoval(store, "unused")
    unused.everything_unless_live()
    assert not unused.exists()
    assert not unused.has_offsets()


def test_a_live_group_is_left_alone(server: MemoryZkServer, store: MemoryZkStore) -> None:
    """Nothing is deleted, neither the group nor one of its topics."""
    server.connect().create("/consumers/g/ids/a", b"", ephemeral=True)
    before = below(store)
    assert GroupRemoval(store, "g").everything() is Deletion.ACTIVE
    assert GroupRemoval(store, "g").topic("t") is Deletion.ACTIVE
    assert below(store) == before


class ActBeforeTransaction:
    """Runs an action before one of a store's transactions."""

    def __init__(self, store: MemoryZkStore, number: int, act: Callable[[], object]) -> None:
        self._multi, self._number, self._act = store.multi, number, act
        self.count = 0

    def __call__(self, ops: Sequence[Op], *, session_id: int | None = None) -> MultiResult:
        """Replaces ``ZkStore.multi``."""
        if self.count == self._number:
            self._act()
        self.count += 1
        return self._multi(ops, session_id=session_id)


def test_a_member_that_joins_meanwhile_stops_the_deletion(
    server: MemoryZkServer, store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member may join between the check for members and the transaction."""
    other = server.connect()
    before = below(store)
    join = ActBeforeTransaction(
        store, 0, lambda: other.create("/consumers/g/ids/a", b"", ephemeral=True)
    )
    monkeypatch.setattr(store, "multi", join)
    assert GroupRemoval(store, "g").everything() is Deletion.ACTIVE
    after = ["/consumers/g/ids", "/consumers/g/ids/a", *before[1:]]
    assert below(store) == after
    other.delete_many(["/consumers/g/ids/a"])
    join.count = 0
    assert GroupRemoval(store, "g").topic("t") is Deletion.ACTIVE
    assert below(store) == after


def test_an_offset_committed_meanwhile_is_deleted_too(
    server: MemoryZkServer, store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member that has left may still commit late."""
    other = server.connect()
    late = {"/consumers/g/offsets/t/1": b"5"}
    monkeypatch.setattr(
        store, "multi", ActBeforeTransaction(store, 0, lambda: other.set_or_create_many(late))
    )
    assert GroupRemoval(store, "g").everything() is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g2"]]


def test_a_deletion_gives_up_if_nodes_keep_appearing(
    server: MemoryZkServer, store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says to stop the clients that write; it does not retry for ever."""
    other, real = server.connect(), store.multi
    names = iter(range(100))

    def multi(ops: Sequence[Op], *, session_id: int | None = None) -> MultiResult:
        other.set_or_create_many({f"/consumers/g/offsets/t/{next(names)}x": b"5"})
        return real(ops, session_id=session_id)

    monkeypatch.setattr(store, "multi", multi)
    with pytest.raises(RegistryError, match="stop the clients that write them"):
        GroupRemoval(store, "g").everything()


def test_a_large_group_is_deleted_in_several_transactions(
    server: MemoryZkServer, store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transaction checks for members; a member that joins in between is reported."""
    monkeypatch.setattr(group_removal, "_AT_ONCE", 3)
    count = len(below(store))
    other = server.connect()
    join = ActBeforeTransaction(
        store, 1, lambda: other.create("/consumers/g/ids/a", b"", ephemeral=True)
    )
    with monkeypatch.context() as patch:
        patch.setattr(store, "multi", join)
        with pytest.raises(RegistryError, match="a joined group g"):
            GroupRemoval(store, "g").everything()
    assert len(below(store)) == count - 3 + 1
    other.close()
    assert GroupRemoval(store, "g").everything() is Deletion.DONE
    assert store.children_many(["/consumers"]) == [["g2"]]


def test_a_deletion_finished_by_another_client_is_done(
    server: MemoryZkServer, store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group existed and this client deleted part of it, so the result is not "no group"."""
    monkeypatch.setattr(group_removal, "_AT_ONCE", 3)
    others = GroupRemoval(server.connect(), "g")
    with monkeypatch.context() as patch:
        patch.setattr(store, "multi", ActBeforeTransaction(store, 1, others.everything))
        removal = GroupRemoval(store, "g")
        assert removal.everything() is Deletion.DONE
    assert removal.everything() is Deletion.NO_GROUP


def test_a_member_that_joins_after_one_topic_prevents_the_next(
    server: MemoryZkServer, store: MemoryZkStore
) -> None:
    """The second topic is refused like a first one, without mention of the finished deletion."""
    removal = GroupRemoval(store, "g")
    assert removal.topic("t") is Deletion.DONE
    server.connect().create("/consumers/g/ids/a", b"", ephemeral=True)
    assert removal.topic("u") is Deletion.ACTIVE


class SlowCoordinator:
    """A client, dialer and connection in one; each call takes a fixed time, within its time-out."""

    def __init__(self, clock: ManualClock, *, takes_ms: int, code: ErrorCode) -> None:
        self.limits: list[int] = []
        self.versions = self
        self._clock = clock
        self._takes_ms = takes_ms
        self._code = code

    def _take(self, timeout_ms: int) -> None:
        self.limits.append(timeout_ms)
        self._clock.advance(min(self._takes_ms, timeout_ms))

    def coordinator(self, _group_id: str, *, timeout_ms: int) -> Broker:
        self._take(timeout_ms)
        return Broker(1, "b", 9092)

    def dial(self, _broker: Broker, *, timeout_ms: int) -> "SlowCoordinator":
        self._take(timeout_ms)
        return self

    def has(self, _key: object) -> bool:
        return True

    def call(self, request: DeleteGroupsRequest, *, timeout_ms: int) -> DeleteGroupsResponse:
        self._take(timeout_ms)
        (name,) = request.groups_names
        deleted = DeletedGroup(group_id=name, error_code=int(self._code))
        return DeleteGroupsResponse(results=(deleted,))

    def close(self) -> None:
        """Do nothing: there is no connection."""


def test_deleting_a_coordinator_group_has_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit covers finding the coordinator, connecting, and all attempts."""
    clock = ManualClock()
    monkeypatch.setattr(group_removal, "wait_ms", clock.advance)

    def delete(slow: Any) -> Deletion:
        return delete_coordinated(slow, slow, "c", timeout_ms=1_000, clock=clock)

    slow = SlowCoordinator(clock, takes_ms=300, code=ErrorCode.NONE)
    assert delete(slow) is Deletion.DONE
    assert slow.limits == [1_000, 700, 400]
    busy = SlowCoordinator(clock, takes_ms=200, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    began_ms = clock.now_ms()
    with pytest.raises(BrokerError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        delete(busy)
    assert clock.now_ms() - began_ms <= 1_002
    assert busy.limits == [1_000, 800, 600, 150, 1, 1]


def test_a_group_is_deleted_without_transactions() -> None:
    """A ZooKeeper that has no multi is supported."""
    store = MemoryZkServer(supports_multi=False).connect()
    store.set_or_create_many({"/consumers/g/offsets/t/0": b"1"})
    assert GroupRemoval(store, "g").everything() is Deletion.DONE
    assert store.children_many(["/consumers"]) == [[]]
