"""Calls of several requests, during which another client acts."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import interfered
from tests.support.zk_members import SeenEvents
from zkconsumer.errors import RegistryError


def test_a_node_that_appears_while_it_is_read_is_returned_and_watched() -> None:
    """A node that is created right after a read missed it is returned, and watched."""
    server = MemoryZkServer()
    other = server.connect()

    def create_late(kind: str, number: int) -> None:
        if (kind, number) == ("exists", 0):
            other.create("/late", b"1", ephemeral=False)

    store, seen = interfered(server, create_late), SeenEvents()
    node = store.get_many(["/late"], watch=seen)[0]
    assert node is not None
    assert node.data == b"1"
    assert seen.events == []
    other.set_or_create_many({"/late": b"2"})
    assert seen.events == [("/late", "CHANGED")]


def test_children_of_a_node_that_appears_while_it_is_read_are_watched() -> None:
    """The children of a node that is created meanwhile are watched, not only the node."""
    server = MemoryZkServer()
    other = server.connect()

    def create_late(kind: str, number: int) -> None:
        if (kind, number) == ("exists", 0):
            other.ensure_paths(["/late/a"])

    store, seen = interfered(server, create_late), SeenEvents()
    assert store.children_many(["/late"], watch=seen) == [["a"]]
    other.ensure_paths(["/late/b"])
    assert seen.events == [("/late", "CHILD")]


def test_a_node_that_flickers_while_it_is_read_is_missing_but_watched() -> None:
    """A node that is deleted again before the second read is missing, and its watch has fired."""
    server = MemoryZkServer()
    other = server.connect()

    def flicker(kind: str, number: int) -> None:
        if (kind, number) == ("exists", 0):
            other.create("/late", b"", ephemeral=False)
        if (kind, number) == ("get", 1):
            other.delete_many(["/late"])

    store, seen = interfered(server, flicker), SeenEvents()
    assert store.get_many(["/late"], watch=seen) == [None]
    assert seen.events == [("/late", "DELETED")]


def test_a_node_that_is_created_meanwhile_is_overwritten() -> None:
    """If another client creates the node meanwhile it is overwritten: the last writer wins."""
    server = MemoryZkServer()
    other = server.connect()

    def create_late(kind: str, number: int) -> None:
        if (kind, number) == ("write", 1):
            other.create("/o", b"theirs", ephemeral=False)

    store = interfered(server, create_late)
    assert store.set_or_create_many({"/o": b"ours"}) == [None]
    assert [node and node.data for node in store.get_many(["/o"])] == [b"ours"]


def test_one_item_that_can_not_be_written_fails_alone() -> None:
    """An item below an ephemeral node can't be written, and the others are."""
    store = MemoryZkServer().connect()
    store.create("/mine", b"", ephemeral=True)
    outcome = store.set_or_create_many({"/a": b"1", "/mine/x": b"2"})
    assert outcome == [None, "parent is ephemeral"]


def test_a_node_that_can_not_be_created_is_named() -> None:
    """A node that can't be created is an error with its path and the reason."""
    store = MemoryZkServer().connect()
    store.create("/mine", b"", ephemeral=True)
    with pytest.raises(RegistryError, match="/mine/x could not be created: parent is ephemeral"):
        store.create("/mine/x", b"", ephemeral=False)
    with pytest.raises(RegistryError, match="/mine/x could not be created"):
        store.ensure_paths(["/mine/x"])


def test_parents_are_created_without_data() -> None:
    """Parents are created with null data, as Scala does, not with empty bytes."""
    server = MemoryZkServer()
    server.connect().create("/a/b", b"", ephemeral=False)
    assert server.tree.has_null_data("/a")
    assert not server.tree.has_null_data("/a/b")
