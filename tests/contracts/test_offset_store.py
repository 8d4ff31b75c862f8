"""What every store of committed offsets must do."""

from collections.abc import Iterator

import pytest

from tests.support.offset_worlds import LANES, OffsetWorld, offset_world
from tests.support.zk_worlds import ZkWorld
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, OffsetStore
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.store import ZkStore

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.fixture(scope="module")
def kafka_0_9() -> Iterator[Sandbox]:
    """A real broker 0.9.0.1, whose coordinator is implemented differently."""
    with Sandbox(kafka="0.9.0.1", brokers=1) as sandbox:
        yield sandbox


@pytest.fixture(params=LANES)
def place(request: pytest.FixtureRequest) -> Iterator[OffsetWorld]:
    """An empty offset store of any kind."""
    with offset_world(request.param, request) as world:
        yield world


def test_an_uncommitted_partition_has_no_offset(place: OffsetWorld) -> None:
    """A partition without a committed offset has the offset None, not an error."""
    t0, _, u0 = place.three
    assert place.offsets.fetch([t0, u0]) == {t0: FetchedOffset(None), u0: FetchedOffset(None)}
    assert place.offsets.fetch([]) == {}


def test_a_committed_offset_is_fetched(place: OffsetWorld) -> None:
    """One commit and one fetch cover several topics; zero and the largest offset are kept."""
    t0, t1, u0 = place.three
    largest = 2**63 - 1
    committed = {
        t0: OffsetAndMetadata(42),
        t1: OffsetAndMetadata(0, "dropped where there is no place for it"),
        u0: OffsetAndMetadata(largest),
    }
    assert place.offsets.commit(committed) == dict.fromkeys(committed)
    kept = "" if place.offsets.storage == "zookeeper" else committed[t1].metadata
    assert place.offsets.fetch([u0, t1, t0]) == {
        t0: FetchedOffset(42),
        t1: FetchedOffset(0, metadata=kept),
        u0: FetchedOffset(largest),
    }


def test_the_last_commit_wins(place: OffsetWorld) -> None:
    """A later commit replaces an earlier one; with ``rewind`` also by a smaller offset."""
    t0, t1, _ = place.three
    place.offsets.commit({t0: OffsetAndMetadata(100), t1: OffsetAndMetadata(5)})
    place.offsets.commit({t0: OffsetAndMetadata(7)}, rewind=True)
    assert place.offsets.fetch([t0, t1]) == {t0: FetchedOffset(7), t1: FetchedOffset(5)}


def test_many_partitions_at_once(place: OffsetWorld) -> None:
    """All offsets of a large topic are written twice and read back."""
    many = {
        TopicPartition(place.topic, number): OffsetAndMetadata(number)
        for number in range(place.partitions)
    }
    for _ in range(2):
        assert set(place.offsets.commit(many, retry=True).values()) == {None}
    fetched = place.offsets.fetch(list(many))
    assert all(fetched[tp] == FetchedOffset(committed.offset) for tp, committed in many.items())


def test_an_invalid_offset_is_refused_and_the_others_are_written(place: OffsetWorld) -> None:
    """Each refused partition has a reason and is not stored; the others are."""
    t0, t1, u0 = place.three
    outcome = place.offsets.commit(
        {
            t0: OffsetAndMetadata(-1),
            t1: OffsetAndMetadata(2**63),
            TopicPartition("no/topic", 0): OffsetAndMetadata(1),
            u0: OffsetAndMetadata(1),
        }
    )
    assert outcome[u0] is None
    assert [why is None for why in outcome.values()] == [False, False, False, True]
    assert place.offsets.fetch([t0, t1, u0]) == {
        t0: FetchedOffset(None),
        t1: FetchedOffset(None),
        u0: FetchedOffset(1),
    }


def test_a_commit_of_nothing_succeeds(place: OffsetWorld) -> None:
    """An empty commit succeeds with an empty result."""
    assert place.offsets.commit({}) == {}


def test_a_store_names_its_storage(place: OffsetWorld) -> None:
    """A store names its storage, and says whether offsets expire, as they do in Kafka."""
    assert place.offsets.storage in {"zookeeper", "kafka", "both"}
    assert place.offsets.expires == (place.offsets.storage != "zookeeper")


# --- In ZooKeeper alone --------------------------------------------------------------------------


@pytest.fixture
def client(world: ZkWorld) -> ZkStore:
    """The client below a ZooKeeper offset store."""
    return world.connect()


@pytest.fixture
def offsets(client: ZkStore) -> OffsetStore:
    """An empty offset store of group g."""
    return ZookeeperOffsetStore(client, "g")


def test_the_bytes_are_bare_decimal_text(client: ZkStore, offsets: OffsetStore) -> None:
    """As Scala writes them: no quotes, no line end, in a persistent node."""
    offsets.commit({U0: OffsetAndMetadata(1234567890123)})
    node = client.get_many(["/consumers/g/offsets/u/0"])[0]
    assert node is not None
    assert (node.data, node.ephemeral_owner) == (b"1234567890123", 0)


@pytest.mark.parametrize("data", [b"", b"6\n", b'"6"', b"0x6", b"9223372036854775808", b"\xff"])
def test_an_entry_that_is_not_an_offset_is_reported_with_its_node(
    client: ZkStore, offsets: OffsetStore, data: bytes
) -> None:
    """It has no offset but an error with the node's path; other partitions are unaffected."""
    client.set_or_create_many({"/consumers/g/offsets/t/0": data})
    offsets.commit({T1: OffsetAndMetadata(3)})
    fetched = offsets.fetch([T0, T1])
    assert fetched[T1] == FetchedOffset(3)
    assert fetched[T0].offset is None
    assert "/consumers/g/offsets/t/0" in str(fetched[T0].error)


def test_a_negative_entry_counts_as_none(client: ZkStore, offsets: OffsetStore) -> None:
    """-1, which tools write for "no offset", reads as None without an error."""
    client.set_or_create_many({"/consumers/g/offsets/t/0": b"-1"})
    assert offsets.fetch([T0]) == {T0: FetchedOffset(None)}
