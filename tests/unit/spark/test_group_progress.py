"""A query's offsets in its group: what is written, what is kept, and which members conflict."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.manual_clock import ManualClock
from tests.support.scripted_offsets import ScriptedOffsets
from zkconsumer.errors import ConfigError, OffsetCommitFailed, RegistryError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.group_progress import RENEW_EVERY_MS, GroupProgress, open_progress

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def progress_over(offsets: ScriptedOffsets, clock: ManualClock | None = None) -> GroupProgress:
    """Return the progress of group ``g`` in a store, without a ZooKeeper in which members are."""
    return GroupProgress("g", offsets, zookeeper=None, clock=clock)


def test_offsets_are_written_where_members_look_for_them() -> None:
    """Offsets are written to the very node, with the very text, of a consumer of 0.8."""
    store = MemoryZkServer().connect()
    progress = GroupProgress("g", ZookeeperOffsetStore(store, "g"), zookeeper=store)
    progress.commit({T0: 7})
    [node] = store.get_many(["/consumers/g/offsets/t/0"])
    assert node is not None
    assert node.data == b"7"
    assert progress.committed([T0, T1]) == {T0: 7, T1: None}
    # Here the offset checker finds the topics of a group.
    assert store.children_many(["/consumers/g/owners", "/consumers/g/owners/t"]) == [["t"], []]
    progress.refuse_live()


def test_what_did_not_move_is_not_written_again() -> None:
    """An offset that did not move is not written again, so an idle query sends no commit."""
    offsets = ScriptedOffsets()
    progress = progress_over(offsets)
    progress.commit({T0: 7, T1: 1})
    progress.commit({T0: 7, T1: 2})
    offsets.broken = RegistryError("nobody is asked")
    progress.commit({T0: 7, T1: 2})
    assert [commit for commit, _, _ in offsets.commits] == [{T0: 7, T1: 1}, {T1: 2}]


def test_what_expires_is_written_again_in_time() -> None:
    """Where offsets expire they are written again in time, for partitions without messages."""
    offsets, clock = ScriptedOffsets(expires=True), ManualClock()
    progress = progress_over(offsets, clock)
    progress.commit({T0: 7})
    clock.advance(RENEW_EVERY_MS - 1)
    progress.commit({T0: 7})
    assert len(offsets.commits) == 1
    clock.advance(1)
    progress.commit({T0: 7})
    assert len(offsets.commits) == 2


@given(
    there=some.none() | some.integers(0, 20),
    ours=some.integers(0, 20),
    end=some.none() | some.integers(0, 20),
)
def test_an_offset_never_goes_back_within_the_log(
    there: int | None, ours: int, end: int | None
) -> None:
    """A larger offset in the log is kept, as its messages were read; one after the end is not."""
    offsets = ScriptedOffsets()
    if there is not None:
        offsets.kept[T0] = there
    progress_over(offsets).commit({T0: ours}, log_ends={} if end is None else {T0: end})
    nobodys = there is None or (end is not None and there > end)
    assert offsets.kept[T0] == (ours if nobodys or there is None else max(ours, there))


def test_one_partition_that_fails_is_named_and_tried_again() -> None:
    """A partition whose commit fails is named and tried again; the others are committed."""
    offsets = ScriptedOffsets()
    offsets.refused[T1] = "no room"
    progress = progress_over(offsets)
    with pytest.raises(OffsetCommitFailed, match=r"group g: .*t-1: no room"):
        progress.commit({T0: 7, T1: 8})
    assert offsets.kept == {T0: 7}
    offsets.refused.clear()
    progress.commit({T0: 7, T1: 8})
    assert offsets.commits[-1][0] == {T1: 8}


def test_an_offset_that_cannot_be_read_is_not_none() -> None:
    """An offset that can't be read is an error: to start elsewhere would lose messages."""
    offsets = ScriptedOffsets()
    offsets.unreadable[T1] = "t-1 holds garbage"
    with pytest.raises(ZkConsumerError, match="t-1 holds garbage"):
        progress_over(offsets).committed([T0, T1])


def test_an_offset_that_cannot_be_read_is_not_overwritten() -> None:
    """It may be larger: the commit fails for this partition, and is tried again with the next."""
    offsets = ScriptedOffsets()
    offsets.kept[T1] = 50
    offsets.unreadable[T1] = "t-1: COORDINATOR_LOAD_IN_PROGRESS"
    progress = progress_over(offsets)
    with pytest.raises(OffsetCommitFailed, match=r"group g: .*COORDINATOR_LOAD_IN_PROGRESS"):
        progress.commit({T0: 7, T1: 8})
    assert offsets.kept == {T0: 7, T1: 50}
    offsets.unreadable.clear()
    progress.commit({T0: 7, T1: 60})
    assert offsets.kept == {T0: 7, T1: 60}


def test_live_members_are_named() -> None:
    """Live members are named; the owner node of a dead member does not count as one."""
    store = MemoryZkServer().connect()
    progress = GroupProgress("g", ZookeeperOffsetStore(store, "g"), zookeeper=store)
    progress.refuse_live()
    store.create("/consumers/g/owners/t/0", b"dead-0", ephemeral=False)
    progress.refuse_live()
    store.create("/consumers/g/ids/g_host-1", b"{}", ephemeral=True)
    with pytest.raises(ConfigError, match=r"live members: g_host-1\. .*allowLiveGroup=true"):
        progress.refuse_live()


def test_the_group_is_checked_before_anything_is_connected() -> None:
    """An invalid group or storage is refused before ZooKeeper is connected to."""
    nowhere = ClusterAddress(zookeeper_connect="nowhere.invalid:1")
    with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
        open_progress("g", "both", ClusterAddress(), ClusterReader(ClusterAddress()))
    with pytest.raises(ConfigError, match="'a/b' can't be the name"):
        open_progress("a/b", "zookeeper", nowhere, ClusterReader(nowhere))
