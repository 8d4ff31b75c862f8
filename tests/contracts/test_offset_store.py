"""What every place for committed offsets must do."""

import pytest

from tests.support.zk_worlds import ZkWorld
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset, OffsetStore
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.store import ZkStore

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.fixture
def client(world: ZkWorld) -> ZkStore:
    """The client below a ZooKeeper offset store."""
    return world.connect()


@pytest.fixture
def offsets(client: ZkStore) -> OffsetStore:
    """An empty offset store of group g."""
    return ZookeeperOffsetStore(client, "g")


def test_what_was_never_committed_has_no_offset(offsets: OffsetStore) -> None:
    """No entry is a value, not an error."""
    assert offsets.fetch([T0, U0]) == {T0: FetchedOffset(None), U0: FetchedOffset(None)}
    assert offsets.fetch([]) == {}


def test_a_committed_offset_is_fetched(offsets: OffsetStore) -> None:
    """Several topics and partitions in one go; zero and the largest offset included."""
    largest = 2**63 - 1
    committed = {
        T0: OffsetAndMetadata(42),
        T1: OffsetAndMetadata(0, "dropped where there is no place for it"),
        U0: OffsetAndMetadata(largest),
    }
    assert offsets.commit(committed) == dict.fromkeys(committed)
    assert offsets.fetch([U0, T1, T0]) == {
        T0: FetchedOffset(42),
        T1: FetchedOffset(0),
        U0: FetchedOffset(largest),
    }


def test_the_last_commit_wins(offsets: OffsetStore) -> None:
    """Backwards too: a rewind is a commit."""
    offsets.commit({T0: OffsetAndMetadata(100), T1: OffsetAndMetadata(5)})
    offsets.commit({T0: OffsetAndMetadata(7)})
    assert offsets.fetch([T0, T1]) == {T0: FetchedOffset(7), T1: FetchedOffset(5)}


def test_many_partitions_at_once(offsets: OffsetStore) -> None:
    """2,000 offsets are written, read and written again."""
    many = {TopicPartition("t", number): OffsetAndMetadata(number) for number in range(2000)}
    for _ in range(2):
        assert set(offsets.commit(many).values()) == {None}
    fetched = offsets.fetch(list(many))
    assert all(fetched[tp] == FetchedOffset(it.offset) for tp, it in many.items())


def test_an_impossible_offset_is_refused_and_the_others_are_written(offsets: OffsetStore) -> None:
    """Each refusal says why; nothing of it reaches the store."""
    outcome = offsets.commit(
        {
            T0: OffsetAndMetadata(-1),
            T1: OffsetAndMetadata(2**63),
            TopicPartition("no/topic", 0): OffsetAndMetadata(1),
            U0: OffsetAndMetadata(1),
        }
    )
    assert outcome[U0] is None
    assert [why is None for why in outcome.values()] == [False, False, False, True]
    assert offsets.fetch([T0, T1, U0]) == {
        T0: FetchedOffset(None),
        T1: FetchedOffset(None),
        U0: FetchedOffset(1),
    }


# --- In ZooKeeper alone --------------------------------------------------------------------------


def test_the_bytes_are_bare_decimal_text(client: ZkStore, offsets: OffsetStore) -> None:
    """As Scala writes and reads it: no quotes, no line end, in a persistent node."""
    offsets.commit({U0: OffsetAndMetadata(1234567890123)})
    node = client.get_many(["/consumers/g/offsets/u/0"])[0]
    assert node is not None
    assert (node.data, node.ephemeral_owner) == (b"1234567890123", 0)


@pytest.mark.parametrize("data", [b"", b"6\n", b'"6"', b"0x6", b"9223372036854775808", b"\xff"])
def test_an_entry_that_is_no_offset_is_told_with_its_node(
    client: ZkStore, offsets: OffsetStore, data: bytes
) -> None:
    """It counts as none, says what to do, and harms no other partition."""
    client.set_or_create_many({"/consumers/g/offsets/t/0": data})
    offsets.commit({T1: OffsetAndMetadata(3)})
    fetched = offsets.fetch([T0, T1])
    assert fetched[T1] == FetchedOffset(3)
    assert fetched[T0].offset is None
    assert "/consumers/g/offsets/t/0" in str(fetched[T0].error)


def test_a_negative_entry_counts_as_none(client: ZkStore, offsets: OffsetStore) -> None:
    """Tools leave -1 for "nothing"."""
    client.set_or_create_many({"/consumers/g/offsets/t/0": b"-1"})
    assert offsets.fetch([T0]) == {T0: FetchedOffset(None)}
