"""Committed offsets that do not advance between two snapshots."""

from collections.abc import Callable
from dataclasses import replace

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
)

T0 = TopicPartition("t", 0)
KEY = GroupKey(GroupKind.ZOOKEEPER, "g")
Change = Callable[[GroupPartition], GroupPartition]


def changed(snapshot: ClusterSnapshot, change: Change) -> ClusterSnapshot:
    """Return the snapshot with this change of its first partition, and no lag in the others."""
    group = snapshot.groups[KEY]
    partitions = tuple(
        change(partition) if partition.topic_partition == T0 else partition._replace(log_end=90)
        for partition in group.partitions
    )
    return replace(snapshot, groups={KEY: replace(group, partitions=partitions)})


def between(then: Change, now: Change, apart_ms: int = 600_000) -> list[Diagnosis]:
    """Return the findings of two snapshots."""
    world: DiagnosedCluster = healthy()
    earlier = changed(world.snapshot(taken_ms=NOW_MS - apart_ms), then)
    return list(examine(changed(world.snapshot(), now), Circumstances(earlier=earlier)))


def same(partition: GroupPartition) -> GroupPartition:
    """Leave the partition unchanged: committed at 90, with a log end of 100."""
    return partition


def committed(offset: int, at_ms: int, storage: str = "zookeeper") -> Change:
    """Return the change to another commit."""
    at = CommittedOffset(offset, "kafka" if storage == "kafka" else "zookeeper", NOW_MS, at_ms)
    return lambda partition: partition._replace(committed=(at,))


def test_no_commit_with_records_to_read_is_an_error() -> None:
    """No commit between two snapshots, with records to read, is an error that names the owner."""
    (found,) = between(same, lambda partition: partition._replace(log_end=300))
    assert found.code is Code.COMMITS_PAUSED
    assert found.severity is Severity.ERROR
    assert found.evidence == (
        "t-0: committed 90 then and now, the log end went from 100 to 300; "
        "owner g_a-1399996300000-0a0b0c0d-0; last commit 60 min ago",
    )
    # No commit since the last one, before the first snapshot; since that there surely is a lag.
    assert "have not advanced the committed offset for 60 min" in found.what
    assert "something to read for the last 600 s at least." in found.what
    (found,) = between(
        lambda partition: partition._replace(committed=()),
        lambda partition: partition._replace(committed=()),
    )
    assert found.code is Code.COMMITS_PAUSED
    assert "committed nothing" in found.evidence[0]


def test_a_commit_that_advances_is_no_finding() -> None:
    """A commit that advances, a log without a lag, or another owner is no finding."""
    assert between(same, committed(91, NOW_MS)) == []
    assert (
        between(
            lambda partition: partition._replace(log_end=90),
            lambda partition: partition._replace(log_end=95),
        )
        == []
    )
    assert between(lambda partition: partition._replace(owner="other-0"), same) == []
    assert between(lambda partition: partition._replace(log_end=None), same) == []
    assert between(same, same, apart_ms=299_999) == []
    assert len(between(same, same, apart_ms=300_000)) == 1


def test_a_repeated_commit_of_the_same_offset_means_stalled_reading() -> None:
    """In Kafka a repeated commit of the same offset means that reading stalls, not committing."""
    found = between(committed(90, LONG_AGO_MS, "kafka"), committed(90, NOW_MS, "kafka"))
    kinds = {diagnosis.code for diagnosis in found}
    assert all(diagnosis.severity is Severity.ERROR for diagnosis in found)
    assert Code.READING_STALLED in kinds
    assert Code.COMMITS_PAUSED not in kinds
