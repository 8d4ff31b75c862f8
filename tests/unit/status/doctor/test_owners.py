"""Owner nodes of dead sessions, of no member or of no session; and partitions without one."""

from dataclasses import replace

import pytest

from tests.support.diagnosed_cluster import NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.model import GroupKind, GroupState, GroupStatus, MemberStatus

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
A = "g_a-1399996300000-0a0b0c0d"


def replaced(owner: str, session_id: int) -> DiagnosedCluster:
    """Return a healthy group in which the first partition has another owner."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    world.own(T0, owner, session_id)
    return world


def test_a_persistent_owner_is_deleted() -> None:
    """A persistent owner node can be deleted, as nothing else ever would."""
    world = replaced(f"{A}-0", 0)
    found = world.finding(Code.OWNER_PERSISTENT)
    assert found.severity is Severity.ERROR
    assert found.evidence[0].startswith(f"t-0: {A}-0 of no session")
    assert found.fix is not None
    world.repair(found.fix)
    assert world.tree.get("/consumers/g/owners/t/0") is None


def test_an_owner_of_a_dead_session_is_deleted() -> None:
    """An owner of a dead session can be deleted, if ZooKeeper reports the session as dead."""
    world = replaced("g_gone-0", 9)
    assert Code.OWNER_OF_DEAD_SESSION not in codes(world.findings())
    world.live = frozenset({1, 2})
    found = world.finding(Code.OWNER_OF_DEAD_SESSION)
    assert found.fix is not None
    world.repair(found.fix)
    assert codes(world.findings()) == ["owner-missing"]


def test_an_owner_node_of_a_members_former_session_is_an_error() -> None:
    """An owner node of a member's former session is an error without a repair: it will expire."""
    found = replaced(f"{A}-0", 9).finding(Code.OWNER_OF_OTHER_SESSION)
    assert found.severity is Severity.ERROR
    assert "of session 0x9; that member is now in session 0x1" in found.evidence[0]
    assert found.fix is None


def test_an_owner_that_is_no_member_is_an_error() -> None:
    """An owner that is no member is reported with what is known of its session."""
    found = replaced("g_gone-0", 9).finding(Code.OWNER_NO_MEMBER)
    assert found.severity is Severity.ERROR
    assert "whether that session is alive is unknown" in found.evidence[0]
    assert found.fix is None
    found = replaced("g_gone-0", 2).finding(Code.OWNER_NO_MEMBER)
    assert found.evidence[0].endswith("which is that of g_b-1399996300000-0a0b0c0d")


def test_an_owner_that_came_a_moment_ago_may_be_a_new_member() -> None:
    """An owner node created a moment ago may be of a new member: members are read before owners."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    world.clock_ms = NOW_MS - 1000
    world.own(T0, "g_new-0", 9)
    assert world.finding(Code.OWNER_NO_MEMBER).severity is Severity.WARNING


@pytest.mark.parametrize("text", ["nobody", f"{A}-7"])
def test_an_owner_that_is_no_stream_of_its_member_is_reported(text: str) -> None:
    """An owner without a thread number, or with one beyond its member's streams, is reported."""
    assert replaced(text, 1).finding(Code.OWNER_NO_THREAD).severity is Severity.WARNING


def test_an_owner_of_a_topic_that_its_member_does_not_read_is_reported() -> None:
    """An owner of a topic that its member does not read did not release it."""
    world = healthy()
    world.topics["v"] = 1
    world.own(TopicPartition("v", 0), f"{A}-0", 1)
    assert codes(world.findings()) == ["owner-not-subscribed"]


def test_an_earlier_snapshot_tells_a_stuck_group_from_a_rebalancing_one() -> None:
    """A partition without an owner is an error if an earlier snapshot has none, too."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    assert world.finding(Code.OWNER_MISSING).severity is Severity.WARNING
    before = replace(world.snapshot(), taken_ms=NOW_MS - 60_000)
    found = world.finding(Code.OWNER_MISSING, Circumstances(earlier=before))
    assert found.severity is Severity.ERROR
    assert found.evidence == ("t-0: committed 90, the log ends at 100",)
    world.remove("/consumers/g/owners/t/1")
    found = world.finding(Code.OWNER_MISSING, Circumstances(earlier=before))
    assert found.severity is Severity.ERROR
    well = replace(healthy().snapshot(), taken_ms=NOW_MS - 60_000)
    found = world.finding(Code.OWNER_MISSING, Circumstances(earlier=well))
    assert found.severity is Severity.WARNING
    just_now = replace(before, taken_ms=NOW_MS - 29_999)
    found = world.finding(Code.OWNER_MISSING, Circumstances(earlier=just_now))
    assert found.severity is Severity.WARNING
    empty = replace(DiagnosedCluster(t=4, u=4).snapshot(), taken_ms=NOW_MS - 60_000)
    found = world.finding(Code.OWNER_MISSING, Circumstances(earlier=empty))
    assert found.severity is Severity.WARNING


def test_partitions_that_had_no_owner_before_are_named() -> None:
    """If only some partitions had no owner before, the finding says which."""
    world = healthy()
    world.remove("/consumers/g/owners/t/0")
    before = Circumstances(earlier=replace(world.snapshot(), taken_ms=NOW_MS - 60_000))
    assert world.finding(Code.OWNER_MISSING, before).what.endswith("It was the same 60 s before.")
    world.remove("/consumers/g/owners/t/1")
    found = world.finding(Code.OWNER_MISSING, before)
    assert found.severity is Severity.ERROR
    assert found.what.startswith("Nobody reads 2 partitions ")
    assert found.what.endswith("1 of them had no owner 60 s before, either: t-0.")
    grown = healthy()
    earlier = Circumstances(earlier=replace(grown.snapshot(), taken_ms=NOW_MS - 60_000))
    grown.topics["t"] += 1
    found = grown.finding(Code.OWNER_MISSING, earlier)
    assert found.severity is Severity.WARNING
    assert found.about == {TopicPartition("t", 4)}


def test_unassigned_partitions_of_a_coordinators_group_are_reported() -> None:
    """Partitions that no member of a coordinator's group has are reported once it is stable."""
    world = DiagnosedCluster(t=2)
    member = MemberStatus(member_id="m", streams={"t": 1})
    group = GroupStatus(
        group_id="new",
        kind=GroupKind.COORDINATOR,
        seen_ms=NOW_MS,
        state=GroupState.STABLE,
        members=(member,),
        coordinator=world.snapshot().brokers[0].broker,
    )
    found = examine(world.snapshot(group), Circumstances())
    assert codes(found) == ["owner-missing"]
    assert found[0].evidence == ("t-0", "t-1")
    moving = replace(group, state=GroupState.REBALANCING)
    assert examine(world.snapshot(moving), Circumstances()) == ()
