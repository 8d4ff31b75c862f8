"""What is kept of a cluster: newer results are not replaced by older reads."""

import pytest

from tests.support.status_world import T0
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    BrokersAlone,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupStatus,
    PartitionStatus,
    TopicStatus,
)
from zkconsumer.status.reading.assembly import assemble
from zkconsumer.status.reading.kept import CLUSTER_PART_ALONE, Kept
from zkconsumer.status.reading.values import (
    ClusterRead,
    LogSpan,
    LogsRead,
    OffsetsRead,
    SelectedGroupsRead,
    UnreadOffset,
)

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
LOOKED_MS = 2_000


def covered() -> Kept:
    """Return results of a look at one group: offset 50 is committed, and the log ends at 60."""
    kept = Kept()
    group = GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=LOOKED_MS)
    kept.take_group_reads(
        SelectedGroupsRead(
            groups={KEY: group},
            offsets={"g": {T0: CommittedOffset(50, "kafka", LOOKED_MS)}},
            logs={T0: LogSpan(0, 60, LOOKED_MS)},
            failures={},
        ),
        LOOKED_MS,
    )
    return kept


def take_offsets(kept: Kept, began_ms: int) -> None:
    """Take in a read of offsets that began then, and found them deleted."""
    kept.take_offsets(
        OffsetsRead(offsets={"g": {}}, failures={}, moved=frozenset()), began_ms, LOOKED_MS
    )


def take_logs(kept: Kept, at_ms: int) -> None:
    """Take in a read of logs at that time, which found a log end of 55."""
    read = LogsRead(logs={T0: LogSpan(0, 55, at_ms)}, failures={})
    kept.take_logs(read, LOOKED_MS)


def test_offsets_that_were_requested_before_a_look_are_dropped() -> None:
    """Offsets requested before a look don't replace its results; those read after it do."""
    kept = covered()
    take_offsets(kept, LOOKED_MS - 1)
    assert kept.offsets["g"][T0] == CommittedOffset(50, "kafka", LOOKED_MS)
    take_offsets(kept, LOOKED_MS)
    assert kept.offsets["g"] == {}


@pytest.mark.parametrize("is_partial", [False, True])
def test_an_error_for_one_partition_keeps_its_last_offset(is_partial: bool) -> None:
    """An error for one partition keeps its last offset, with age and error.

    A response that no offset is committed, or that it is invalid, replaces it.
    """
    kept = covered()
    read_ms = LOOKED_MS + 500

    def take(found: CommittedOffset | UnreadOffset | str | None) -> None:
        offsets = {} if found is None else {T0: found}
        if is_partial:
            kept.take_group_reads(SelectedGroupsRead(offsets={"g": offsets}), read_ms)
        else:
            read = OffsetsRead(offsets={"g": offsets}, failures={}, moved=frozenset())
            kept.take_offsets(read, read_ms, read_ms)

    def shown() -> GroupPartition | None:
        snapshot = assemble(kept, now_ms=read_ms, through="zk")
        return snapshot.groups[KEY].by_partition.get(T0)

    last = CommittedOffset(50, "kafka", LOOKED_MS)
    unmoved_ms = kept.offsets_unchanged_since_ms("g")
    for why in ("refused", "loading"):
        take(UnreadOffset(why))
        partition = shown()
        assert partition is not None
        assert (partition.committed, partition.problem) == ((last,), why)
    assert kept.offsets_unchanged_since_ms("g") == unmoved_ms == LOOKED_MS
    take(later := CommittedOffset(51, "kafka", read_ms))
    assert (partition := shown()) is not None
    assert (partition.committed, partition.problem) == ((later,), None)
    take("-7 is no offset")
    assert (partition := shown()) is not None
    assert (partition.committed, partition.problem) == ((), "-7 is no offset")
    take(UnreadOffset("refused"))
    assert (partition := shown()) is not None
    assert (partition.committed, partition.problem) == ((), "refused")
    take(None)
    assert shown() is None


def test_an_offset_that_is_kept_beside_an_error_keeps_its_age() -> None:
    """An offset that is kept beside an error keeps its age when the local clock is set back."""
    kept = covered()
    read = SelectedGroupsRead(offsets={"g": {T0: UnreadOffset("refused")}})
    kept.take_group_reads(read, LOOKED_MS)
    kept.set_back(1_500)
    last = CommittedOffset(50, "kafka", LOOKED_MS - 1_500)
    assert kept.offsets["g"] == {T0: UnreadOffset("refused", last)}


def test_log_ends_that_were_requested_before_a_look_are_dropped() -> None:
    """Log ends requested before a look don't go back; those read after it may be smaller."""
    kept = covered()
    for at_ms, end in ((LOOKED_MS - 1, 60), (LOOKED_MS, 55)):
        take_logs(kept, at_ms)
        assert kept.spans[T0].end == end


def test_a_late_look_replaces_nothing_newer() -> None:
    """What a look found before another was requested does not come back when it arrives."""
    kept = covered()
    take_logs(kept, LOOKED_MS + 1)
    before = LOOKED_MS - 100
    kept.take_group_reads(
        SelectedGroupsRead(
            groups={KEY: GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=before)},
            offsets={"g": {T0: CommittedOffset(40, "kafka", before)}},
            logs={T0: LogSpan(0, 52, before)},
        ),
        LOOKED_MS + 2,
    )
    assert kept.spans[T0].end == 55
    assert kept.offsets["g"][T0] == CommittedOffset(50, "kafka", LOOKED_MS)
    assert kept.zookeeper_groups["g"].seen_ms == LOOKED_MS


def test_a_replica_that_brokers_omit_counts_as_missing_in_the_snapshot() -> None:
    """A replica that 0.9 omits, with only an error code, makes the partition under-replicated."""
    partition = PartitionStatus(
        topic_partition=TopicPartition("t", 0),
        leader=1,
        replicas=(1,),
        in_sync=(1,),
        lacks_replica=True,
    )
    topic = TopicStatus(name="t", seen_ms=1, partitions=(partition,))
    kept = Kept(CLUSTER_PART_ALONE)
    kept.take_cluster(ClusterRead(brokers=(), topics=(topic,)), 1)
    snapshot = assemble(kept, now_ms=1, through=BrokersAlone(bootstrap_servers="b:9092"))
    assert snapshot.topics[0].partitions[0].under_replicated
