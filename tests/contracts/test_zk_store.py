"""What every ``ZkStore`` must do, in memory and on a real ZooKeeper."""

import pytest

from tests.support.zk_worlds import ZkWorld
from zkconsumer.errors import RegistryError
from zkconsumer.zk.store import (
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiResult,
    Op,
    OpError,
    SetOp,
    ZkStore,
    ZNode,
)


def node_at(store: ZkStore, path: str) -> ZNode:
    """Return the node, which must exist."""
    node = store.get_many([path])[0]
    assert node is not None
    return node


def test_a_created_node_is_read_back_with_its_stat(store: ZkStore, other: ZkStore) -> None:
    """Every client reads a new persistent node's data, version 0, and no session as owner."""
    assert store.create("/a", b"one", ephemeral=False)
    node = node_at(other, "/a")
    assert (node.data, node.version, node.ephemeral_owner) == (b"one", 0, 0)
    assert node.czxid == node.mzxid
    assert node.ctime_ms == node.mtime_ms


def test_create_returns_false_if_the_node_exists(store: ZkStore) -> None:
    """The second create of a path returns False and changes nothing."""
    store.create("/a", b"one", ephemeral=False)
    assert not store.create("/a", b"two", ephemeral=False)
    assert node_at(store, "/a").data == b"one"


def test_create_also_creates_missing_parents(store: ZkStore) -> None:
    """Missing parents are created as persistent, empty nodes."""
    assert store.create("/a/b/c", b"x", ephemeral=True)
    parents = store.get_many(["/a", "/a/b"])
    assert [node and (node.data, node.ephemeral_owner) for node in parents] == [(b"", 0), (b"", 0)]


def test_an_ephemeral_node_has_the_session_id_of_its_creator(
    store: ZkStore, other: ZkStore
) -> None:
    """``ephemeral_owner`` is the session id of the creator, whoever reads it."""
    store.create("/mine", b"", ephemeral=True)
    assert node_at(other, "/mine").ephemeral_owner == store.session_id
    assert store.session_id != other.session_id


def test_an_ephemeral_node_can_have_no_children(store: ZkStore) -> None:
    """A create below an ephemeral node gives PARENT_EPHEMERAL."""
    store.create("/mine", b"", ephemeral=True)
    assert store.write_many([CreateOp("/mine/child", b"")]) == [OpError.PARENT_EPHEMERAL]


def test_reads_are_returned_in_the_requested_order(store: ZkStore) -> None:
    """Results have the order of the paths; a missing node is None at its place."""
    store.set_or_create_many({"/n/1": b"1", "/n/2": b"2"})
    nodes = store.get_many(["/n/2", "/n/nope", "/n/1"])
    assert [node and node.data for node in nodes] == [b"2", None, b"1"]
    assert [stat is not None for stat in store.exists_many(["/n/nope", "/n/1"])] == [False, True]


def test_children_are_sorted_and_none_if_the_node_is_missing(store: ZkStore) -> None:
    """Names are sorted as text; a leaf has an empty list; a missing node gives None."""
    store.ensure_paths(["/p/b", "/p/a", "/p/10", "/p/9"])
    assert store.children_many(["/p", "/p/a", "/nope"]) == [["10", "9", "a", "b"], [], None]


def test_children_can_be_returned_in_the_servers_order(store: ZkStore) -> None:
    """With ``as_listed`` they have the order of Java's HashSet, whose table never shrinks."""

    def listed() -> list[str] | None:
        return store.children_many(["/s"], as_listed=True)[0]

    store.ensure_paths([f"/s/{name}" for name in ("BBBB", "AaBB", "BB", "b", "Aa", "a")])
    assert listed() == ["BB", "Aa", "a", "b", "BBBB", "AaBB"]
    store.delete_many(["/s/BB", "/s/BBBB"])
    store.ensure_paths(["/s/AaAa", "/s/BB", "/s/BBAa"])
    assert listed() == ["Aa", "BB", "a", "b", "AaBB", "AaAa", "BBAa"]
    store.ensure_paths([f"/s/{number}" for number in range(20)])
    grown = listed()
    store.delete_many([f"/s/{number}" for number in range(20)])
    assert grown is not None
    assert listed() == [name for name in grown if not name.isdigit()]
    assert store.children_many(["/s"])[0] == sorted(listed() or [])
    assert store.children_many(["/nope"], as_listed=True) == [None]


def test_far_more_reads_than_fit_in_flight(store: ZkStore) -> None:
    """All results of a batch of 2,000 reads arrive, and in order."""
    paths = [f"/many/{number:04d}" for number in range(2000)]
    store.set_or_create_many({path: path.encode() for path in paths})
    assert [node and node.data for node in store.get_many(paths)] == [p.encode() for p in paths]


def test_write_many_returns_each_outcome(store: ZkStore) -> None:
    """Each operation has an outcome of its own; a failure does not affect the others."""
    store.set_or_create_many({"/w/a": b"", "/w/parent/child": b""})
    ops: list[Op] = [
        CreateOp("/w/a", b""),
        SetOp("/w/a", b"new", 7),
        SetOp("/w/a", b"new", 0),
        SetOp("/w/nope", b""),
        DeleteOp("/w/parent"),
        CreateOp("/w/no/parent", b""),
        DeleteOp("/w/a", 1),
    ]
    assert store.write_many(ops) == [
        OpError.NODE_EXISTS,
        OpError.BAD_VERSION,
        None,
        OpError.NO_NODE,
        OpError.NOT_EMPTY,
        OpError.NO_NODE,
        None,
    ]
    assert store.get_many(["/w/a"]) == [None]


def test_write_many_refuses_a_lone_check(store: ZkStore) -> None:
    """A version check outside of a transaction raises an error: it would have no effect."""
    with pytest.raises(RegistryError, match="transaction"):
        store.write_many([CheckOp("/a")])


def test_set_or_create_overwrites_or_creates(store: ZkStore) -> None:
    """Existing nodes are overwritten, missing ones created with their parents."""
    store.create("/o/t/0", b"1", ephemeral=False)
    assert store.set_or_create_many({"/o/t/0": b"2", "/o/u/5": b"3"}) == [None, None]
    assert [node and node.data for node in store.get_many(["/o/t/0", "/o/u/5"])] == [b"2", b"3"]


def test_ensure_paths_can_be_repeated(store: ZkStore) -> None:
    """Missing nodes and parents are created; existing ones keep their data."""
    store.create("/e", b"kept", ephemeral=False)
    store.ensure_paths(["/e/x/y", "/e/x/z"])
    store.ensure_paths(["/e/x/y", "/f"])
    assert node_at(store, "/e").data == b"kept"
    assert store.children_many(["/e/x", "/f"]) == [["y", "z"], []]


def test_delete_many_ignores_missing_nodes(store: ZkStore) -> None:
    """Missing nodes are no error; a node that can't be deleted is named in the error."""
    store.ensure_paths(["/d/a", "/d/b"])
    store.delete_many(["/d/a", "/d/nope"])
    assert store.children_many(["/d"]) == [["b"]]
    with pytest.raises(RegistryError, match="/d could not be deleted: node has children"):
        store.delete_many(["/d"])


def test_empty_batches_have_empty_results(store: ZkStore) -> None:
    """Every batch call accepts an empty batch, and returns an empty result."""
    assert store.get_many([]) == []
    assert store.children_many([]) == []
    assert store.exists_many([]) == []
    assert store.write_many([]) == []
    assert store.set_or_create_many({}) == []
    store.ensure_paths([])
    store.delete_many([])


@pytest.mark.parametrize("path", ["relative", "/a//b", "/a/", "/a/../b", "/a/./b", "", "/\x00"])
def test_a_path_that_zookeeper_refuses_is_named(store: ZkStore, path: str) -> None:
    """An invalid path raises our own error, and no other path is read or written instead."""
    with pytest.raises(RegistryError, match="not a path"):
        store.get_many(["/ok", path])
    with pytest.raises(RegistryError, match="not a path"):
        store.create(path, b"", ephemeral=False)


# --- Transactions --------------------------------------------------------------------------------


def test_a_transaction_is_applied_completely(store: ZkStore) -> None:
    """A transaction applies all four kinds of operation."""
    store.set_or_create_many({"/m/check": b"", "/m/set": b"", "/m/delete": b""})
    ops: list[Op] = [
        CheckOp("/m/check", 0),
        SetOp("/m/set", b"new", 0),
        DeleteOp("/m/delete", 0),
        CreateOp("/m/create", b"c", ephemeral=True),
    ]
    result = store.multi(ops)
    assert result.ok
    assert result.errors == (None, None, None, None)
    assert store.children_many(["/m"]) == [["check", "create", "set"]]
    assert node_at(store, "/m/create").ephemeral_owner == store.session_id


def test_a_transaction_of_nothing_succeeds(store: ZkStore) -> None:
    """A transaction without operations succeeds, next to others, too."""
    assert store.multi([]) == MultiResult(())
    assert [result.ok for result in store.multi_many([[], [CreateOp("/m", b"")]])] == [True, True]


def test_a_failing_transaction_changes_nothing_and_names_the_failed_operation(
    store: ZkStore,
) -> None:
    """The failed operation has its error; all others are rolled back."""
    store.ensure_paths(["/m/there"])
    result = store.multi(
        [CreateOp("/m/new", b""), SetOp("/m", b"x"), CreateOp("/m/there", b""), DeleteOp("/m/new")]
    )
    assert not result.ok
    rolled_back = OpError.ROLLED_BACK
    assert result.errors == (rolled_back, rolled_back, OpError.NODE_EXISTS, rolled_back)
    assert store.children_many(["/m"]) == [["there"]]
    assert node_at(store, "/m").version == 0


def test_several_transactions_are_independent(store: ZkStore) -> None:
    """A failed transaction does not undo the others; later ones see what earlier ones wrote."""
    store.ensure_paths(["/m"])
    results = store.multi_many(
        [[CreateOp("/m/a", b"")], [CheckOp("/m/nope"), DeleteOp("/m/a")], [SetOp("/m/a", b"", 0)]]
    )
    assert [result.ok for result in results] == [True, False, True]
    assert results[1].errors == (OpError.NO_NODE, OpError.ROLLED_BACK)


def test_without_transactions_multi_raises(old_world: ZkWorld) -> None:
    """On a server without transactions ``multi`` raises at once, and says why."""
    store = old_world.connect()
    assert not store.supports_multi
    with pytest.raises(RegistryError, match="does not support transactions"):
        store.multi([DeleteOp("/a")])


def test_a_parent_counts_creates_and_deletes_of_its_children(
    store: ZkStore, other: ZkStore
) -> None:
    """``child_changes`` grows with each create or delete of a child, not with writes to it."""

    def count() -> tuple[int, int]:
        [stat] = store.exists_many(["/n"])
        assert stat is not None
        return stat.child_changes, stat.pzxid

    store.ensure_paths(["/n"])
    before, _ = count()
    store.multi([CreateOp(f"/n/{number}", b"", ephemeral=True) for number in range(5)])
    other.create("/n/other", b"", ephemeral=False)
    changes, last = count()
    assert changes == before + 6
    other.set_or_create_many({"/n/other": b"text"})
    store.multi([CreateOp("/n/more", b""), CreateOp("/n/0", b"")])
    assert count() == (changes, last)
    store.multi([DeleteOp("/n/0"), DeleteOp("/n/1"), CreateOp("/n/1", b"")])
    changes_after, last_after = count()
    assert changes_after == changes + 3
    assert last_after > last
