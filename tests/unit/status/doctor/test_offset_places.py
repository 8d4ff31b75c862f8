"""Committed offsets in ZooKeeper, in Kafka, in both, and of deleted topics."""

from dataclasses import replace

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster, codes
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
    Storage,
)

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def at(offset: int, storage: Storage, committed_ms: int | None = NOW_MS) -> CommittedOffset:
    """Return an offset that was read now."""
    return CommittedOffset(offset, storage, NOW_MS, committed_ms=committed_ms)


def findings(**partitions: tuple[CommittedOffset, ...]) -> tuple[Diagnosis, ...]:
    """Return the findings of a group with these offsets, by number of a partition of ``t``."""
    world = DiagnosedCluster(t=3)
    world.commit(T0, 1)
    group = replace(
        world.group(),
        partitions=tuple(
            GroupPartition(TopicPartition("t", int(name[1:])), committed=committed)
            for name, committed in partitions.items()
        ),
    )
    return examine(replace(world.snapshot(), groups={group.key: group}), Circumstances())


def test_one_storage_for_all_partitions_is_no_finding() -> None:
    """Offsets in one storage, or the same offsets in both, are no finding."""
    assert findings(p0=(at(1, "zookeeper"),), p1=(at(1, "zookeeper"),)) == ()
    assert findings(p0=(at(1, "kafka"),), p1=(at(1, "kafka"),)) == ()
    assert findings(p0=(at(1, "zookeeper"), at(1, "kafka")), p1=(at(1, "zookeeper"),)) == ()


def test_offsets_that_are_split_are_an_error() -> None:
    """Offsets of some partitions in ZooKeeper and of others in Kafka are an error."""
    (found,) = findings(p0=(at(1, "zookeeper"),), p1=(at(1, "kafka"),), p2=(at(2, "kafka"),))
    assert found.code is Code.OFFSETS_SPLIT
    assert found.severity is Severity.ERROR
    assert found.evidence == (
        "in ZooKeeper only: t-0",
        "in Kafka only: t-1",
        "in Kafka only: t-2",
        "in ZooKeeper only 1, in Kafka only 2, in both 0",
    )


def test_a_storage_that_is_no_longer_written_is_named() -> None:
    """If one storage lags behind it is named with its age; commits to both are no finding."""
    assert findings(p0=(at(9, "zookeeper"), at(8, "kafka"))) == ()
    assert findings(p0=(at(9, "zookeeper", None), at(8, "kafka"))) == ()
    (found,) = findings(p0=(at(5, "zookeeper", LONG_AGO_MS), at(8, "kafka")))
    assert found.code is Code.OFFSETS_DIFFER
    assert found.severity is Severity.WARNING
    assert found.evidence == ("t-0: 5 in ZooKeeper, 8 in Kafka; ZooKeeper's is 3600 s older",)
    (found,) = findings(p0=(at(5, "zookeeper"), at(8, "kafka", LONG_AGO_MS)))
    assert found.evidence[0].endswith("Kafka's is 3600 s older")


def test_without_times_an_earlier_snapshot_tells_which_storage_lags() -> None:
    """Without commit times the storage whose offset did not move between snapshots is named."""

    def message(then: tuple[int, int], apart_ms: int = 600_000) -> list[str]:
        world = DiagnosedCluster(t=1)
        world.commit(T0, 1)
        snapshots = []
        for in_zookeeper, in_kafka in (then, (5, 8)):
            both = (at(in_zookeeper, "zookeeper"), at(in_kafka, "kafka", None))
            group = replace(world.group(), partitions=(GroupPartition(T0, committed=both),))
            snapshots.append(replace(world.snapshot(), groups={group.key: group}))
        earlier = replace(snapshots[0], taken_ms=NOW_MS - apart_ms)
        found = examine(snapshots[1], Circumstances(earlier=earlier))
        return [line for diagnosis in found for line in diagnosis.evidence]

    assert message((5, 7)) == [
        "t-0: 5 in ZooKeeper, 8 in Kafka; ZooKeeper's did not change for 600 s"
    ]
    assert message((4, 8)) == ["t-0: 5 in ZooKeeper, 8 in Kafka; Kafka's did not change for 600 s"]
    assert message((4, 7)) == message((5, 8)) == message((5, 7), apart_ms=60_000) == []


def test_offsets_of_new_consumers_are_not_the_old_groups() -> None:
    """Offsets of new consumers with the same group id are not counted as the old group's."""
    world = DiagnosedCluster(t=3)
    world.commit(T0, 1)
    places = (at(1, "zookeeper"), at(1, "kafka"))
    old = replace(
        world.group(),
        partitions=tuple(
            GroupPartition(TopicPartition("t", number), committed=(committed_offset,))
            for number, committed_offset in enumerate(places)
        ),
    )
    new = GroupStatus(
        group_id="g",
        kind=GroupKind.COORDINATOR,
        seen_ms=NOW_MS,
        members=(MemberStatus(member_id="m"),),
        coordinator=Broker(0, "h", 9092),
    )
    snapshot = replace(world.snapshot(), groups={old.key: old})
    assert codes(examine(snapshot, Circumstances())) == ["offsets-split"]
    snapshot = replace(snapshot, groups={old.key: old, new.key: new})
    assert examine(snapshot, Circumstances()) == ()


def test_offsets_of_deleted_topics_are_deleted() -> None:
    """Offsets of deleted topics can be deleted, unless the topic exists again by then."""
    world = DiagnosedCluster(t=1)
    world.commit(T0, 5)
    world.commit(TopicPartition("gone", 0), 7)
    world.commit(TopicPartition("gone", 1), 8)
    found = world.finding(Code.OFFSETS_OF_DELETED_TOPICS)
    assert found.severity is Severity.NOTE
    assert found.evidence == ("gone-0: 7", "gone-1: 8")
    assert found.fix is not None
    world.create_node("/brokers/topics/gone", b"{}")
    assert world.repair(found.fix).refused == "/brokers/topics/gone exists by now"
    world.remove("/brokers/topics/gone")
    world.repair(found.fix)
    assert world.tree.children("/consumers/g/offsets/gone") == []
    assert world.findings() == ()
    assert world.contents()["/consumers/g/offsets/t/0"] == (b"5", 0)


def test_without_known_topics_none_counts_as_deleted() -> None:
    """If no topics were read, none counts as deleted."""
    world = DiagnosedCluster()
    world.commit(T0, 5)
    assert codes(world.findings()) == []
