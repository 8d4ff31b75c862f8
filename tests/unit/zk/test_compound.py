"""Calls of several steps, with somebody else acting in between."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.interference import interfered
from tests.support.zk_members import SeenEvents
from zkconsumer.errors import RegistryError


def test_a_node_that_appears_while_it_is_read_is_returned_and_watched() -> None:
    """Between the read that missed it and the question whether it exists."""
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
    """The list is watched as a list, not only as a node."""
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
    """It came for the question and was gone for the second read: its end has been told."""
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


def test_what_somebody_else_creates_meanwhile_is_overwritten() -> None:
    """Set, no node, create, node exists, set: the last writer wins, as Scala's does."""
    server = MemoryZkServer()
    other = server.connect()

    def create_late(kind: str, number: int) -> None:
        if (kind, number) == ("write", 1):
            other.create("/o", b"theirs", ephemeral=False)

    store = interfered(server, create_late)
    assert store.set_or_create_many({"/o": b"ours"}) == [None]
    assert [node and node.data for node in store.get_many(["/o"])] == [b"ours"]


def test_one_item_that_cannot_be_written_says_so_alone() -> None:
    """A path below an ephemeral node can't hold anything; the others are written."""
    store = MemoryZkServer().connect()
    store.create("/mine", b"", ephemeral=True)
    outcome = store.set_or_create_many({"/a": b"1", "/mine/x": b"2"})
    assert outcome == [None, "parent is ephemeral"]


def test_a_node_that_cannot_be_made_is_named() -> None:
    """By path and reason."""
    store = MemoryZkServer().connect()
    store.create("/mine", b"", ephemeral=True)
    with pytest.raises(RegistryError, match="/mine/x could not be created: parent is ephemeral"):
        store.create("/mine/x", b"", ephemeral=False)
    with pytest.raises(RegistryError, match="/mine/x could not be created"):
        store.ensure_paths(["/mine/x"])


def test_parents_are_made_without_data() -> None:
    """Null, as Scala makes them; not empty bytes."""
    server = MemoryZkServer()
    server.connect().create("/a/b", b"", ephemeral=False)
    assert server.tree.has_null_data("/a")
    assert not server.tree.has_null_data("/a/b")
