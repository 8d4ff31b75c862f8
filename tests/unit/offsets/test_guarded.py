"""Only offsets of owned partitions are committed."""

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
    """Owned partitions as read from ZooKeeper."""

    def __init__(self, *owned: TopicPartition) -> None:
        self.owned = set(owned)
        self.requested: list[list[TopicPartition]] = []
        self.broken: RegistryError | None = None

    def still_owned(self, partitions: Sequence[TopicPartition]) -> Collection[TopicPartition]:
        """Return which partitions are owned by this member."""
        self.requested.append(list(partitions))
        if self.broken is not None:
            raise self.broken
        return self.owned


def test_offsets_of_owned_partitions_are_committed() -> None:
    """The owners are read once per commit; the flags are passed on."""
    store, owners = ScriptedOffsets(), Owners(T0, T1)
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.commit(OFFSETS, retry=True, rewind=True) == {T0: None, T1: None}
    assert store.commits == [({T0: 10, T1: 11}, True, True)]
    assert owners.requested == [[T0, T1]]


def test_an_offset_of_a_lost_partition_is_refused() -> None:
    """It is not sent, and has its reason; the rest is written."""
    store = ScriptedOffsets()
    reported = OwnedOnly(store, Owners(T1).still_owned).commit(OFFSETS)
    assert reported[T1] is None
    assert "the owner node of t-0 is gone, or another member's" in str(reported[T0])
    assert store.kept == {T1: 11}


def test_without_owned_partitions_the_store_is_not_called() -> None:
    """Without anything to commit, the owners are not read either."""
    store, owners = ScriptedOffsets(), Owners()
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.commit({}) == {}
    assert owners.requested == []
    assert None not in guarded.commit(OFFSETS).values()
    assert store.commits == []


def test_owners_that_can_not_be_read_fail_the_commit() -> None:
    """Nothing is sent, as the owners are unknown."""
    store, owners = ScriptedOffsets(), Owners(T0, T1)
    owners.broken = RegistryError("away")
    with pytest.raises(RegistryError):
        OwnedOnly(store, owners.still_owned).commit(OFFSETS)
    assert store.commits == []


def test_offsets_are_read_without_owning_them() -> None:
    """Owners are not read; the kind of the store is that of the inner one."""
    store, owners = ScriptedOffsets("kafka", expires=True), Owners()
    store.kept = {T0: 4}
    guarded = OwnedOnly(store, owners.still_owned)
    assert guarded.fetch([T0, T1]) == {T0: FetchedOffset(4), T1: FetchedOffset(None)}
    assert owners.requested == []
    assert (guarded.storage, guarded.expires) == ("kafka", True)
