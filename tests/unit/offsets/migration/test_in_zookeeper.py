"""A group's offsets in ZooKeeper as a migration sees them."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.in_zookeeper import ZookeeperGroupOffsets, partitions_in
from zkconsumer.offsets.store import FetchedOffset

A, B = (TopicPartition("t", number) for number in range(2))


@pytest.fixture
def store() -> MemoryZkStore:
    """A client of an empty ZooKeeper."""
    return MemoryZkServer().connect()


def test_an_unused_group_is_empty(store: MemoryZkStore) -> None:
    """It has neither offsets nor members."""
    storage = ZookeeperGroupOffsets(store, "g")
    assert storage.stored(None) == {}
    assert storage.members() == []


def test_every_offset_is_read_and_other_nodes_are_skipped(store: MemoryZkStore) -> None:
    """Only the requested topics are read; a damaged offset is reported."""
    store.set_or_create_many(
        {
            "/consumers/g/offsets/t/0": b"7",
            "/consumers/g/offsets/t/1": b"-1",
            "/consumers/g/offsets/t/x": b"8",
            "/consumers/g/offsets/t/01": b"8",
            f"/consumers/g/offsets/t/{'9' * 5_000}": b"8",
            "/consumers/g/offsets/u/10": b"bad",
        }
    )
    storage = ZookeeperGroupOffsets(store, "g")
    found = storage.stored(None)
    bad = TopicPartition("u", 10)
    assert found[A] == FetchedOffset(7)
    assert found[B] == FetchedOffset(None)
    assert "correct or delete the node" in str(found[bad].error)
    assert set(found) == {A, B, bad}
    assert set(storage.stored({"t"})) == {A, B}


def test_offsets_are_written_and_deleted(store: MemoryZkStore) -> None:
    """ZooKeeper has no place for metadata."""
    storage = ZookeeperGroupOffsets(store, "g")
    assert storage.write({A: OffsetAndMetadata(3, "note"), B: OffsetAndMetadata(4)}) == {
        A: None,
        B: None,
    }
    assert storage.write({A: None, B: OffsetAndMetadata(1)}) == {A: None, B: None}
    assert storage.fetch([A, B]) == {A: FetchedOffset(None), B: FetchedOffset(1)}
    assert store.exists_many(["/consumers/g/offsets/t/0"]) == [None]


def test_members_are_those_that_are_registered_or_own_something(store: MemoryZkStore) -> None:
    """An owner node that belongs to no session never expires."""
    store.create("/consumers/g/ids/g_host-1", b"{}", ephemeral=True)
    store.create("/consumers/g/owners/t/0", b"g_host-1-0", ephemeral=True)
    store.create("/consumers/g/owners/t/1", b"g_gone-0", ephemeral=True)
    store.create("/consumers/g/owners/t/2", b"g_stuck-0", ephemeral=False)
    assert ZookeeperGroupOffsets(store, "g").members() == [
        "g_host-1 (registered in ZooKeeper)",
        "g_gone-0 (owns t-1)",
        "g_stuck-0 (owns t-2 by a node of no session: delete it)",
    ]


def test_partitions_are_those_of_the_cluster(store: MemoryZkStore) -> None:
    """Malformed topics are skipped: the brokers may know them."""
    assert partitions_in(store) == frozenset()
    store.set_or_create_many(
        {
            "/brokers/topics/t": b'{"version":1,"partitions":{"1":[2],"0":[1]}}',
            "/brokers/topics/bad": b"bad",
        }
    )
    assert partitions_in(store) == {A, B}
