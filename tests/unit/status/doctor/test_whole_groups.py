"""Findings about groups as a whole, and about group ids of old and new consumers."""

from dataclasses import replace

from tests.support.diagnosed_cluster import NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import (
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
)

T0 = TopicPartition("t", 0)


def coordinated(group_id: str = "g", **fields: object) -> GroupStatus:
    """Return a stable group with one member that reads topic ``t``."""
    group = GroupStatus(
        group_id=group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=NOW_MS,
        state=GroupState.STABLE,
        members=(MemberStatus(member_id="m", streams={"t": 1}),),
        partitions=tuple(
            GroupPartition(TopicPartition("t", number), owner="m") for number in range(4)
        ),
        coordinator=DiagnosedCluster().snapshot().brokers[0].broker,
    )
    return replace(group, **fields)  # type: ignore[arg-type]


def test_old_and_new_consumers_with_one_group_id_are_an_error() -> None:
    """Old and new consumers with one group id both read everything: that is an error."""
    world = healthy()
    (found,) = examine(world.snapshot(coordinated()), Circumstances())
    assert found.code is Code.GROUP_OLD_AND_NEW
    assert "twice in topics: t." in found.what
    assert found.evidence[1] == "at the coordinator: m"
    assert examine(world.snapshot(coordinated("other")), Circumstances()) == ()
    empty = coordinated(members=(), partitions=(), state=GroupState.EMPTY)
    assert examine(world.snapshot(empty), Circumstances()) == ()


def test_a_group_without_a_coordinator_is_reported() -> None:
    """A group without a coordinator is reported with its state."""
    group = coordinated(coordinator=None, reported_state="Dead", members=(), partitions=())
    (found,) = examine(DiagnosedCluster(t=4).snapshot(group), Circumstances())
    assert found.code is Code.COORDINATOR_MISSING
    assert found.evidence == ("the group's state: Dead",)


def test_a_rebalance_without_end_is_reported() -> None:
    """A rebalance that is under way in two snapshots, with new members, is endless."""
    world = DiagnosedCluster(t=4)
    now = coordinated(state=GroupState.REBALANCING, reported_state="PreparingRebalance")
    then = replace(now, members=(MemberStatus(member_id="m0"),))
    earlier = world.snapshot(then, taken_ms=NOW_MS - 60_000)
    (found,) = examine(world.snapshot(now), Circumstances(earlier=earlier))
    assert found.code is Code.REBALANCE_ENDLESS
    assert found.evidence[0] == "1 member now, 1 then, 1 of them new"
    at_rest = world.snapshot(coordinated(), taken_ms=NOW_MS - 60_000)
    assert examine(world.snapshot(now), Circumstances(earlier=at_rest)) == ()
    just_now = world.snapshot(then, taken_ms=NOW_MS - 1000)
    assert examine(world.snapshot(now), Circumstances(earlier=just_now)) == ()


def test_problems_of_reading_are_findings() -> None:
    """Problems in reading a group or its partitions are findings."""
    world = healthy()
    world.remove("/consumers/g/offsets/t/0")
    world.create_node("/consumers/g/offsets/t/0", b"six")
    (found,) = world.findings()
    assert found.code is Code.PARTITION_PROBLEM
    assert "'six' is not an offset" in found.evidence[0]
    world.create_node("/consumers/g/owners/b't'/0-1", b"x", 1)
    assert codes(world.findings()) == ["group-problem", "partition-problem"]


def test_a_group_that_is_not_of_consumers_is_a_note() -> None:
    """A group that is not of consumers, such as Kafka Connect's, is only a note."""
    group = coordinated(
        members=(MemberStatus(member_id="m"),), partitions=(), problems=("it speaks 'connect'",)
    )
    (found,) = examine(DiagnosedCluster(t=4).snapshot(group), Circumstances())
    assert found.code is Code.GROUP_PROBLEM
    assert found.severity is Severity.NOTE
