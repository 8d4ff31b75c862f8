"""Offsets that are written only onto the nodes that were read."""

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration import versioned
from zkconsumer.offsets.migration.versioned import VersionedNodes
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
    """Where an offset lies."""
    return f"/consumers/g/offsets/{tp.topic}/{tp.partition}"


def texts(store: MemoryZkStore) -> list[bytes | None]:
    """What lies there of all three."""
    return [
        None if node is None else node.data for node in store.get_many([path(A), path(B), path(C)])
    ]


def to(offset: int) -> OffsetAndMetadata:
    """An offset to write."""
    return OffsetAndMetadata(offset)


def test_offsets_are_set_made_and_taken_away(store: MemoryZkStore) -> None:
    """In any mixture, and again after that: what we wrote ourselves is in nobody's way."""
    nodes = VersionedNodes(store, "g")
    assert nodes.fetch([A, B, C]) == {
        A: FetchedOffset(1),
        B: FetchedOffset(2),
        C: FetchedOffset(None),
    }
    assert nodes.write({A: to(5), B: None, C: to(7)}) == {A: None, B: None, C: None}
    assert texts(store) == [b"5", None, b"7"]
    assert nodes.write({A: None, B: to(6), C: to(8)}) == {A: None, B: None, C: None}
    assert texts(store) == [None, b"6", b"8"]
    assert nodes.write({A: None}) == {A: None}, "there is none, as it shall be"


@pytest.mark.parametrize("change", ["set", "made", "deleted"])
def test_what_somebody_wrote_meanwhile_is_left_alone(store: MemoryZkStore, change: str) -> None:
    """And nothing else of the transaction is written; the culprit is told to all."""
    nodes = VersionedNodes(store, "g")
    nodes.fetch([A, B, C])
    culprit = {"set": B, "made": C, "deleted": B}[change]
    if change == "deleted":
        store.delete_many([path(B)])
    else:
        store.set_or_create_many({path(culprit): b"90"})
    before = texts(store)
    reported = nodes.write({A: to(5), B: to(6), C: to(7)})
    others = f"{culprit} could not be written: {LEFT_ALONE}"
    assert reported == {**dict.fromkeys((A, B, C), others), culprit: LEFT_ALONE}
    assert texts(store) == before
    nodes.fetch([A, B, C])
    assert nodes.write({A: to(5), B: to(6), C: to(7)}) == {A: None, B: None, C: None}


def test_an_offset_that_none_can_be_is_refused(store: MemoryZkStore) -> None:
    """The others are written."""
    nodes = VersionedNodes(store, "g")
    assert nodes.write({A: to(-1), B: to(6)}) == {A: "-1 can't be an offset", B: None}
    assert texts(store) == [b"1", b"6", None]


def test_many_go_out_in_transactions_that_zookeeper_takes(
    store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one that fails nothing more is tried, and each says why."""
    monkeypatch.setattr(versioned, "TRANSACTION_BYTES", 600)
    sent: list[list[str]] = []
    multi = store.multi

    def noting(ops: list[Op], *, session_id: int | None = None) -> MultiResult:
        sent.append([op.path for op in ops])
        return multi(ops, session_id=session_id)

    monkeypatch.setattr(store, "multi", noting)
    nodes = VersionedNodes(store, "g")
    partitions = [TopicPartition("t", number) for number in range(6)]
    nodes.fetch(partitions)
    store.set_or_create_many({path(partitions[2]): b"90"})
    reported = nodes.write({tp: to(5) for tp in partitions})
    assert sent == [[path(A), path(B)], [path(partitions[2]), path(partitions[3])]]
    assert [reported[tp] for tp in partitions] == [
        *(None, None, LEFT_ALONE, f"t-2 could not be written: {LEFT_ALONE}"),
        *[f"not tried: t-2 could not be written: {LEFT_ALONE}"] * 2,
    ]
    assert texts(store) == [b"5", b"5", b"90"]


def test_without_transactions_each_is_fenced_on_its_own(
    store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As servers before 3.4 need it."""
    monkeypatch.setattr(MemoryZkStore, "supports_multi", False)
    nodes = VersionedNodes(store, "g")
    nodes.fetch([A, B])
    store.set_or_create_many({path(B): b"90"})
    assert nodes.write({A: to(5), B: to(6)}) == {A: None, B: LEFT_ALONE}
    assert texts(store) == [b"5", b"90", None]


def test_a_lost_answer_is_an_error(store: MemoryZkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wrote must read what is there now."""

    def lost(*_: object, **__: object) -> MultiResult:
        raise RegistryError("no answer")

    monkeypatch.setattr(store, "multi", lost)
    with pytest.raises(RegistryError, match="no answer"):
        VersionedNodes(store, "g").write({A: to(5)})
