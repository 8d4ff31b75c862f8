"""What is kept of a cluster: what a look saw is not replaced by what was read before it."""

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
    GroupReads,
    LogSpan,
    LogsRead,
    OffsetsRead,
    UnreadOffset,
)

KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
LOOKED_MS = 2_000


def covered() -> Kept:
    """A look saw that offset 50 was committed, and that the log ends at 60."""
    kept = Kept()
    group = GroupStatus(group_id="g", kind=GroupKind.ZOOKEEPER, seen_ms=LOOKED_MS)
    kept.take_look(
        GroupReads(
            groups={KEY: group},
            offsets={"g": {T0: CommittedOffset(50, "kafka", LOOKED_MS)}},
            logs={T0: LogSpan(0, 60, LOOKED_MS)},
            failures={},
        ),
        LOOKED_MS,
    )
    return kept


def take_offsets(kept: Kept, began_ms: int) -> None:
    """A reading that began then finds nothing, since the group's offsets were deleted."""
    kept.take_offsets(
        OffsetsRead(offsets={"g": {}}, failures={}, moved=frozenset()), began_ms, LOOKED_MS
    )


def take_logs(kept: Kept, at_ms: int) -> None:
    """A reading then found that the log ends at 55."""
    read = LogsRead(spans={T0: LogSpan(0, 55, at_ms)}, problems={}, failures={})
    kept.take_logs(read, LOOKED_MS)


def test_offsets_that_were_asked_for_before_a_look() -> None:
    """They don't go back; what is read after the look counts, also that there are none."""
    kept = covered()
    take_offsets(kept, LOOKED_MS - 1)
    assert kept.offsets["g"][T0] == CommittedOffset(50, "kafka", LOOKED_MS)
    take_offsets(kept, LOOKED_MS)
    assert kept.offsets["g"] == {}


@pytest.mark.parametrize("is_look", [False, True])
def test_an_error_for_one_partition_keeps_its_last_offset(is_look: bool) -> None:
    """With its age and the error; that nothing, or no offset, is committed there replaces it."""
    kept = covered()
    read_ms = LOOKED_MS + 500

    def take(found: CommittedOffset | UnreadOffset | str | None) -> None:
        offsets = {} if found is None else {T0: found}
        if is_look:
            kept.take_look(GroupReads(offsets={"g": offsets}), read_ms)
        else:
            read = OffsetsRead(offsets={"g": offsets}, failures={}, moved=frozenset())
            kept.take_offsets(read, read_ms, read_ms)

    def shown() -> GroupPartition | None:
        snapshot = assemble(kept, now_ms=read_ms, through="zk")
        return snapshot.groups[KEY].by_partition.get(T0)

    last = CommittedOffset(50, "kafka", LOOKED_MS)
    unmoved_ms = kept.unmoved_since_ms("g")
    for why in ("refused", "loading"):
        take(UnreadOffset(why))
        partition = shown()
        assert partition is not None
        assert (partition.committed, partition.problem) == ((last,), why)
    assert kept.unmoved_since_ms("g") == unmoved_ms == LOOKED_MS
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
    """Also when the local clock is set back."""
    kept = covered()
    read = GroupReads(offsets={"g": {T0: UnreadOffset("refused")}})
    kept.take_look(read, LOOKED_MS)
    kept.set_back(1_500)
    last = CommittedOffset(50, "kafka", LOOKED_MS - 1_500)
    assert kept.offsets["g"] == {T0: UnreadOffset("refused", last)}


def test_logs_that_were_asked_for_before_a_look() -> None:
    """Their ends don't go back, either; unless a log really is shorter."""
    kept = covered()
    for at_ms, end in ((LOOKED_MS - 1, 60), (LOOKED_MS, 55)):
        take_logs(kept, at_ms)
        assert kept.spans[T0].end == end


def test_a_replica_that_brokers_leave_out_is_missed_in_the_snapshot() -> None:
    """Brokers of 0.9 omit offline replicas, and say so by an error code alone."""
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
