"""Offsets are written only if their nodes are unchanged since they were read."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration import in_zookeeper
from zkconsumer.offsets.migration.in_zookeeper import ZookeeperGroupOffsets
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.zk.store import MultiResult, Op

A, B, C = (TopicPartition("t", number) for number in range(3))
LEFT_ALONE = "it was written since it was read, so it was left alone: try again"


@pytest.fixture
def store() -> MemoryZkStore:
    """A client of a ZooKeeper in which group ``g`` has offsets 1 and 2."""
    store = MemoryZkServer().connect()
    store.set_or_create_many({path(A): b"1", path(B): b"2"})
    return store


def path(tp: TopicPartition) -> str:
    """Return the path of an offset's node."""
    return f"/consumers/g/offsets/{tp.topic}/{tp.partition}"


def texts(store: MemoryZkStore) -> list[bytes | None]:
    """Return the data of all three nodes."""
    return [
        None if node is None else node.data for node in store.get_many([path(A), path(B), path(C)])
    ]


def offset_entry(offset: int) -> OffsetAndMetadata:
    """Return an offset to write."""
    return OffsetAndMetadata(offset)


def test_offsets_are_set_created_and_deleted(store: MemoryZkStore) -> None:
    """This works in any mixture, and repeatedly: our own writes are no conflict."""
    nodes = ZookeeperGroupOffsets(store, "g")
    assert nodes.fetch([A, B, C]) == {
        A: FetchedOffset(1),
        B: FetchedOffset(2),
        C: FetchedOffset(None),
    }
    assert nodes.write({A: offset_entry(5), B: None, C: offset_entry(7)}) == {
        A: None,
        B: None,
        C: None,
    }
    assert texts(store) == [b"5", None, b"7"]
    assert nodes.write({A: None, B: offset_entry(6), C: offset_entry(8)}) == {
        A: None,
        B: None,
        C: None,
    }
    assert texts(store) == [None, b"6", b"8"]
    assert nodes.write({A: None}) == {A: None}, "there is none, as it shall be"


@pytest.mark.parametrize("change", ["set", "made", "deleted"])
def test_an_offset_that_was_written_meanwhile_is_left_alone(
    store: MemoryZkStore, change: str
) -> None:
    """Nothing else of the transaction is written; every partition's error names the cause."""
    nodes = ZookeeperGroupOffsets(store, "g")
    nodes.fetch([A, B, C])
    changed = {"set": B, "made": C, "deleted": B}[change]
    if change == "deleted":
        store.delete_many([path(B)])
    else:
        store.set_or_create_many({path(changed): b"90"})
    before = texts(store)
    reported = nodes.write({A: offset_entry(5), B: offset_entry(6), C: offset_entry(7)})
    others = f"{changed} could not be written: {LEFT_ALONE}"
    assert reported == {**dict.fromkeys((A, B, C), others), changed: LEFT_ALONE}
    assert texts(store) == before
    nodes.fetch([A, B, C])
    assert nodes.write({A: offset_entry(5), B: offset_entry(6), C: offset_entry(7)}) == {
        A: None,
        B: None,
        C: None,
    }


def test_an_impossible_offset_is_refused(store: MemoryZkStore) -> None:
    """The others are written."""
    nodes = ZookeeperGroupOffsets(store, "g")
    assert nodes.write({A: offset_entry(-1), B: offset_entry(6)}) == {
        A: "-1 can't be an offset",
        B: None,
    }
    assert texts(store) == [b"1", b"6", None]


def test_many_offsets_are_written_in_transactions_of_limited_size(
    store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a transaction that fails no other is tried, and each partition has the reason."""
    monkeypatch.setattr(in_zookeeper, "TRANSACTION_BYTES", 600)
    sent: list[list[str]] = []
    multi = store.multi

    def recording(ops: list[Op], *, session_id: int | None = None) -> MultiResult:
        sent.append([op.path for op in ops])
        return multi(ops, session_id=session_id)

    monkeypatch.setattr(store, "multi", recording)
    nodes = ZookeeperGroupOffsets(store, "g")
    partitions = [TopicPartition("t", number) for number in range(6)]
    nodes.fetch(partitions)
    store.set_or_create_many({path(partitions[2]): b"90"})
    reported = nodes.write({tp: offset_entry(5) for tp in partitions})
    assert sent == [[path(A), path(B)], [path(partitions[2]), path(partitions[3])]]
    assert [reported[tp] for tp in partitions] == [
        *(None, None, LEFT_ALONE, f"t-2 could not be written: {LEFT_ALONE}"),
        *[f"not tried: t-2 could not be written: {LEFT_ALONE}"] * 2,
    ]
    assert texts(store) == [b"5", b"5", b"90"]


def test_without_transactions_each_offset_is_fenced_separately(
    store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper before 3.4 has no transactions."""
    monkeypatch.setattr(store, "supports_multi", False)
    nodes = ZookeeperGroupOffsets(store, "g")
    nodes.fetch([A, B])
    store.set_or_create_many({path(B): b"90"})
    assert nodes.write({A: offset_entry(5), B: offset_entry(6)}) == {A: None, B: LEFT_ALONE}
    assert texts(store) == [b"5", b"90", None]


def test_a_lost_response_is_an_error(store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller must read the offsets to know what was written."""

    def lost(*_: object, **__: object) -> MultiResult:
        raise RegistryError("no answer")

    monkeypatch.setattr(store, "multi", lost)
    with pytest.raises(RegistryError, match="no answer"):
        ZookeeperGroupOffsets(store, "g").write({A: offset_entry(5)})
