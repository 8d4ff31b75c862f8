from collections.abc import Sequence
from typing import cast

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.cli.consume.command import free_group
from zkconsumer.cli.groups.removal import GroupRemoval
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.zk.store import MultiResult, Op, ZkStore


@pytest.fixture
def store() -> MemoryZkStore:
    """A client of an empty ZooKeeper."""
    return MemoryZkServer().connect()


def test_a_group_that_nobody_used_has_nothing(store: MemoryZkStore) -> None:
    """And to delete it does no harm."""
    nodes = GroupRemoval(store, "g")
    assert not nodes.exists()
    assert not nodes.has_offsets()
    nodes.everything_unless_live()
    assert not nodes.exists()


def test_a_group_is_deleted_with_all_that_lies_below_it(store: MemoryZkStore) -> None:
    """Its neighbours stay."""
    store.set_or_create_many(
        {
            "/consumers/g/offsets/t/0": b"7",
            "/consumers/g/offsets/t/1": b"8",
            "/consumers/g/owners/t/0": b"x",
            "/consumers/g/ids": b"",
            "/consumers/g2/offsets/t/0": b"9",
        }
    )
    nodes = GroupRemoval(store, "g")
    assert nodes.exists()
    assert nodes.has_offsets()
    nodes.everything_unless_live()
    assert store.children_many(["/consumers"]) == [["g2"]]


def test_a_group_with_live_members_is_left_alone(store: MemoryZkStore) -> None:
    """They would go on without their nodes; the error names them."""
    store.create("/consumers/g/ids/g_host-1", b"{}", ephemeral=True)
    store.create("/consumers/g/offsets/t/0", b"7", ephemeral=False)
    with pytest.raises(RegistryError, match=r"group g can't be deleted.*stop g_host-1 first"):
        GroupRemoval(store, "g").everything_unless_live()
    assert GroupRemoval(store, "g").has_offsets()


def test_who_joins_amid_the_deletion_keeps_what_is_there(store: MemoryZkStore) -> None:
    """Between the look for members and the deletion there is no moment in which one can join."""
    store.create("/consumers/g/offsets/t/0", b"7", ephemeral=False)
    store.create("/consumers/g/ids", b"", ephemeral=False)
    joining = JoiningMidway(store)
    with pytest.raises(RegistryError, match=r"group g can't be deleted.*stop g_late-1 first"):
        GroupRemoval(cast("ZkStore", joining), "g").everything_unless_live()
    assert GroupRemoval(store, "g").has_offsets()


class JoiningMidway:
    """A client before whose first transaction a member registers."""

    def __init__(self, store: MemoryZkStore) -> None:
        self._store = store
        self._joined = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def multi(self, ops: Sequence[Op]) -> MultiResult:
        """Join, then do what was asked."""
        if not self._joined:
            self._joined = True
            self._store.create("/consumers/g/ids/g_late-1", b"{}", ephemeral=True)
        return self._store.multi(ops)


def test_a_made_up_group_is_one_that_nobody_uses() -> None:
    """It is deleted at the end, so it must be ours alone."""
    numbers = iter((5, 5, 17))
    taken = {"console-consumer-5"}
    assert free_group(taken.__contains__, lambda _: next(numbers)) == "console-consumer-17"
    with pytest.raises(ConfigError, match="--group"):
        free_group(lambda _: True, lambda _: 0)
