"""Offsets that stand still between two looks."""

from collections.abc import Callable
from dataclasses import replace

from tests.support.sick_world import LONG_AGO_MS, NOW_MS, SickWorld, healthy
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
    """The same with another first partition, and nothing to read in the others."""
    group = snapshot.groups[KEY]
    partitions = tuple(
        change(partition) if partition.topic_partition == T0 else partition._replace(log_end=90)
        for partition in group.partitions
    )
    return replace(snapshot, groups={KEY: replace(group, partitions=partitions)})


def between(then: Change, now: Change, apart_ms: int = 600_000) -> list[Diagnosis]:
    """What is said of two looks."""
    world: SickWorld = healthy()
    earlier = changed(world.snapshot(taken_ms=NOW_MS - apart_ms), then)
    return list(examine(changed(world.snapshot(), now), Circumstances(earlier=earlier)))


def same(one: GroupPartition) -> GroupPartition:
    """As it is: committed at 90, the log ends at 100."""
    return one


def committed(offset: int, at_ms: int, storage: str = "zookeeper") -> Change:
    """Another commit."""
    at = CommittedOffset(offset, "kafka" if storage == "kafka" else "zookeeper", NOW_MS, "", at_ms)
    return lambda partition: partition._replace(committed=(at,))


def test_nothing_committed_although_there_was_something_to_read() -> None:
    """The finding names the owner."""
    (found,) = between(same, lambda partition: partition._replace(log_end=300))
    assert found.code is Code.COMMITS_PAUSED
    assert found.severity is Severity.ERROR
    assert found.evidence == (
        "t-0: committed 90 then and now, the log end went from 100 to 300; "
        "owner g_a-1399996300000-0a0b0c0d-0; last commit 60 min ago",
    )
    # Since the last commit, which was before our first look; what was to read is sure since that.
    assert "have not advanced the committed offset for 60 min" in found.what
    assert "something to read for the last 600 s at least." in found.what
    (found,) = between(
        lambda partition: partition._replace(committed=()),
        lambda partition: partition._replace(committed=()),
    )
    assert found.code is Code.COMMITS_PAUSED
    assert "committed nothing" in found.evidence[0]


def test_what_moves_is_fine() -> None:
    """So is what had nothing to read at the first look, and what another owner stands at."""
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


def test_the_same_offset_committed_again_and_again() -> None:
    """Kafka's storage shows that commits come: then it is reading that stands."""
    found = between(committed(90, LONG_AGO_MS, "kafka"), committed(90, NOW_MS, "kafka"))
    kinds = {diagnosis.code for diagnosis in found}
    assert all(diagnosis.severity is Severity.ERROR for diagnosis in found)
    assert Code.READING_STALLED in kinds
    assert Code.COMMITS_PAUSED not in kinds
