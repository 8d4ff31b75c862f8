"""Offsets in ZooKeeper: the number of requests, and the check of group ids."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore

OFFSETS = {TopicPartition("t", number): OffsetAndMetadata(number) for number in range(100)}


def test_a_repeated_commit_takes_one_request_per_offset() -> None:
    """Parents and nodes are created once; after that each offset is one write."""
    store = MemoryZkServer().connect()
    offsets = ZookeeperOffsetStore(store, "g")
    offsets.commit(OFFSETS)
    store.requests.clear()
    offsets.commit(OFFSETS)
    assert store.requests == {"write": 100}


def test_a_fetch_reads_only_listed_nodes() -> None:
    """For a group without offsets in a thousand partitions one request is enough."""
    store = MemoryZkServer().connect()
    offsets = ZookeeperOffsetStore(store, "g")
    many = [TopicPartition("t", number) for number in range(1000)]
    assert set(offsets.fetch(many).values()) == {FetchedOffset(None)}
    assert +store.requests == {"children": 1}
    offsets.commit(OFFSETS)
    store.requests.clear()
    fetched = offsets.fetch(many)
    assert [fetched[tp].offset for tp in many[:101]] == [*range(100), None]
    assert +store.requests == {"children": 1, "get": 100}


@pytest.mark.parametrize(
    ("count", "requests"), [(16, {"get": 16}), (17, {"children": 1, "get": 4})]
)
def test_few_partitions_of_a_topic_are_read_without_a_listing(
    count: int, requests: dict[str, int]
) -> None:
    """A listing would be one more request; other topics of the fetch do not count."""
    store = MemoryZkServer().connect()
    offsets = ZookeeperOffsetStore(store, "g")
    stored = [TopicPartition("t", number) for number in range(4)]
    offsets.commit(dict.fromkeys(stored, OffsetAndMetadata(7)))
    store.requests.clear()
    others = [TopicPartition("u", number) for number in range(16)]
    fetched = offsets.fetch([TopicPartition("t", number) for number in range(count)] + others)
    assert [tp for tp, entry in fetched.items() if entry.offset == 7] == stored
    assert len(fetched) == count + 16
    assert +store.requests == requests | {"get": requests["get"] + 16}


def test_an_empty_commit_sends_no_request() -> None:
    """Not even the connection is checked."""
    server = MemoryZkServer()
    store = server.connect()
    server.disconnect(store.session_id)
    assert ZookeeperOffsetStore(store, "g").commit({}) == {}


def test_an_unreachable_zookeeper_is_an_error_of_the_whole_call() -> None:
    """Nothing is known about any partition."""
    server = MemoryZkServer()
    store = server.connect()
    server.disconnect(store.session_id)
    offsets = ZookeeperOffsetStore(store, "g")
    with pytest.raises(RegistryError):
        offsets.commit(OFFSETS)
    with pytest.raises(RegistryError):
        offsets.fetch(list(OFFSETS))


def test_a_partition_that_cannot_be_written_fails_alone() -> None:
    """The others are committed."""
    store = MemoryZkServer().connect()
    store.ensure_paths(["/consumers/g/offsets"])
    store.create("/consumers/g/offsets/bad", b"", ephemeral=True)
    bad, good = TopicPartition("bad", 0), TopicPartition("t", 0)
    outcome = ZookeeperOffsetStore(store, "g").commit(
        {bad: OffsetAndMetadata(1), good: OffsetAndMetadata(2)}
    )
    assert outcome == {bad: "parent is ephemeral", good: None}


def test_a_group_id_that_is_no_node_name_is_refused() -> None:
    """It is refused before anything is read or written."""
    with pytest.raises(ConfigError, match=r"group\.id"):
        ZookeeperOffsetStore(MemoryZkServer().connect(), "")
