"""Commits of owned partitions only."""

from collections.abc import Collection, Sequence

import pytest

from tests.support.offset_bench import T0, T1
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.guarded import OwnedOnly
from zkconsumer.offsets.store import FetchedOffset

OFFSETS = {T0: OffsetAndMetadata(10), T1: OffsetAndMetadata(11)}


class Owners:
    """Who owns what, as read from ZooKeeper."""

    def __init__(self, *owned: TopicPartition) -> None:
        self.owned = set(owned)
        self.requested: list[list[TopicPartition]] = []
        self.broken: RegistryError | None = None

    def still_owned(self, partitions: Sequence[TopicPartition]) -> Collection[TopicPartition]:
        """What of these is ours."""
        self.requested.append(list(partitions))
        if self.broken is not None:
            raise self.broken
        return self.owned


def test_what_is_ours_is_committed() -> None:
    """The owners are read once for each commit; flags are passed on."""
    store, owners = ScriptedOffsets(), Owners(T0, T1)
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.commit(OFFSETS, retry=True, rewind=True) == {T0: None, T1: None}
    assert store.commits == [({T0: 10, T1: 11}, True, True)]
    assert owners.requested == [[T0, T1]]


def test_what_is_not_ours_any_more_is_refused() -> None:
    """It is not sent; the reason says what happened; the rest is written."""
    store = ScriptedOffsets()
    reported = OwnedOnly(store, Owners(T1).still_owned).commit(OFFSETS)
    assert reported[T1] is None
    assert "the owner node of t-0 is gone, or another member's" in str(reported[T0])
    assert store.kept == {T1: 11}


def test_without_anything_of_ours_the_store_is_not_asked() -> None:
    """And without anything to commit, nobody is."""
    store, owners = ScriptedOffsets(), Owners()
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.commit({}) == {}
    assert owners.requested == []
    assert None not in guarded.commit(OFFSETS).values()
    assert store.commits == []


def test_owners_that_can_not_be_read() -> None:
    """Nothing is sent: nobody knows whose the partitions are."""
    store, owners = ScriptedOffsets(), Owners(T0, T1)
    owners.broken = RegistryError("away")
    with pytest.raises(RegistryError):
        OwnedOnly(store, owners.still_owned).commit(OFFSETS)
    assert store.commits == []


def test_anybody_may_read() -> None:
    """Owners are not asked; what kind of store it is, is the inner one's to say."""
    store, owners = ScriptedOffsets("kafka", expires=True), Owners()
    store.kept = {T0: 4}
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.fetch([T0, T1]) == {T0: FetchedOffset(4), T1: FetchedOffset(None)}
    assert owners.requested == []
    assert (guarded.storage, guarded.expires) == ("kafka", True)
