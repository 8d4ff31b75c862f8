"""Subscriptions compared with each other, with the topics, and with the owners."""

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

ROUND_ROBIN = Circumstances(strategies={"g": "roundrobin"})


def uneven() -> DiagnosedCluster:
    """Create a group of two members with different subscriptions."""
    world = DiagnosedCluster(t=2, u=2)
    world.register("g_a", 1, t=1, u=1)
    world.register("g_b", 2, t=1)
    return world


def test_unequal_subscriptions_are_no_finding_under_range() -> None:
    """A group assigned by range has no finding for unequal subscriptions."""
    world = uneven()
    world.assign("range")
    assert world.findings() == ()


def test_unequal_subscriptions_are_a_suspicion_unless_the_strategy_is_known() -> None:
    """Unequal subscriptions are an error under round-robin, nothing under range, else a warning."""
    world = uneven()
    found = world.finding(Code.SUBSCRIPTIONS_UNEQUAL)
    assert found.severity is Severity.WARNING
    assert found.evidence == (
        "t: read by 2 streams",
        "u: read by 1 stream",
        "only t is read by g_b-0",
    )
    assert world.finding(Code.SUBSCRIPTIONS_UNEQUAL, ROUND_ROBIN).severity is Severity.ERROR
    around = Circumstances(strategies={"g": "range"})
    assert Code.SUBSCRIPTIONS_UNEQUAL not in codes(world.findings(around))


def test_round_robin_with_equal_subscriptions_is_well() -> None:
    """Round-robin is recognized by the owners, and equal subscriptions are no finding."""
    world = DiagnosedCluster(t=4, u=3)
    world.register("g_a", 1, t=2, u=2)
    world.register("g_b", 2, t=2, u=2)
    world.assign("roundrobin")
    assert world.findings(ROUND_ROBIN) == ()


def test_members_of_different_strategies_are_an_error() -> None:
    """If members' partitions match different strategies, it is an error that names both."""
    world = DiagnosedCluster(t=1, u=3)
    world.register("g_a", 1, t=1, u=1)
    world.register("g_b", 2, t=1, u=1)
    world.own(TopicPartition("t", 0), "g_a-0", 1)
    world.own(TopicPartition("u", 1), "g_a-0", 1)
    world.own(TopicPartition("u", 2), "g_b-0", 2)
    found = world.finding(Code.ASSIGNORS_DIFFER)
    assert found.severity is Severity.ERROR
    assert found.evidence == (
        "g_a owns 2 partitions: its share by roundrobin",
        "g_b owns 1 partition: its share by range",
    )


def test_owners_by_no_known_strategy_are_a_warning() -> None:
    """If all partitions are owned, but by neither strategy, it is a warning."""
    world = healthy()
    for number, owner, session in ((0, "g_b", 2), (3, "g_a", 1)):
        world.remove(f"/consumers/g/owners/t/{number}")
        world.own(TopicPartition("t", number), f"{owner}-1399996300000-0a0b0c0d-0", session)
    found = world.finding(Code.ASSIGNORS_DIFFER)
    assert found.severity is Severity.WARNING
    assert all(line.endswith("its share by neither strategy") for line in found.evidence)


def test_streams_without_partitions_are_named() -> None:
    """Streams without partitions are named, with the topics that have too few."""
    world = DiagnosedCluster(t=2, u=5)
    world.register("g_a", 1, t=3, u=1)
    world.assign()
    found = world.finding(Code.TOO_FEW_PARTITIONS)
    assert found.severity is Severity.NOTE
    assert found.what.startswith("1 stream of 3 get nothing")
    assert found.evidence == ("t: 3 streams, 2 partitions", "idle: g_a-2")


def test_only_topics_that_are_too_small_are_named() -> None:
    """Only topics with fewer partitions than streams are named."""
    world = DiagnosedCluster(t=2, u=2)
    world.register("g_a", 1, t=3, u=2)
    world.assign()
    found = world.finding(Code.TOO_FEW_PARTITIONS)
    assert found.evidence == ("t: 3 streams, 2 partitions", "idle: g_a-2")


def test_round_robin_may_keep_every_stream_busy() -> None:
    """Round-robin deals all topics to all streams, so that fewer are idle than by range."""
    world = DiagnosedCluster(t=1, u=1)
    world.register("g_a", 1, t=2, u=2)
    world.assign("range")
    assert codes(world.findings()) == ["too-few-partitions"]
    world = DiagnosedCluster(t=1, u=1)
    world.register("g_a", 1, t=2, u=2)
    world.assign("roundrobin")
    assert world.findings() == ()


def test_streams_that_are_idle_by_any_strategy_are_reported() -> None:
    """Streams that are idle by any strategy are reported before the group is assigned."""
    world = DiagnosedCluster(t=2)
    world.register("g_a", 1, t=3)
    assert codes(world.findings())[-1] == "too-few-partitions"
    world = DiagnosedCluster(t=2, u=1)
    world.register("g_a", 1, t=3, u=3)
    assert Code.TOO_FEW_PARTITIONS not in codes(world.findings())


def test_the_streams_of_a_missing_topic_are_not_too_many() -> None:
    """The streams of a missing topic are not counted as too many."""
    world = DiagnosedCluster(t=1)
    world.register("g_a", 1, t=1, wrong=2)
    world.assign()
    found = world.findings()
    assert codes(found) == ["subscribed-topic-missing"]
    assert found[0].evidence == ("wrong: g_a",)


def coordinator_group(*members: MemberStatus, owner: str = "m1") -> GroupStatus:
    """Return a stable group that reads a topic of one partition."""
    tp = TopicPartition("t", 0)
    return GroupStatus(
        group_id="new",
        kind=GroupKind.COORDINATOR,
        seen_ms=NOW_MS,
        state=GroupState.STABLE,
        members=members,
        partitions=(GroupPartition(tp, owner=owner),),
        coordinator=DiagnosedCluster().snapshot().brokers[0].broker,
    )


def test_idle_members_of_a_coordinators_group_are_named() -> None:
    """Idle members of a coordinator's group are named."""
    members = [MemberStatus(member_id=name, streams={"t": 1}) for name in ("m1", "m2")]
    found = examine(DiagnosedCluster(t=1).snapshot(coordinator_group(*members)), Circumstances())
    assert codes(found) == ["too-few-partitions"]
    assert found[0].evidence == ("2 members, 1 partition", "idle: m2")


def test_members_with_different_assignors_are_reported() -> None:
    """Members that name different assignors are reported, if the coordinator lists them."""
    members = [
        MemberStatus(member_id="m1", streams={"t": 1}, assignor="range"),
        MemberStatus(member_id="m2", streams={"t": 1}, assignor="sticky"),
    ]
    group = replace(coordinator_group(*members), state=GroupState.REBALANCING)
    found = examine(DiagnosedCluster(t=1).snapshot(group), Circumstances())
    assert codes(found) == ["assignors-differ"]
    assert found[0].evidence == ("range: m1", "sticky: m2")


def test_streams_without_end_are_counted_and_not_listed() -> None:
    """Streams in huge numbers are counted, and only the first idle ones are named."""
    most = 2**31 - 1
    world = DiagnosedCluster(t=3, u=1)
    world.register("g_a", 1, t=most)
    world.assign("range")
    found = world.finding(Code.TOO_FEW_PARTITIONS)
    assert found.what.startswith("2147483644 streams of 2147483647 get nothing to read")
    assert found.evidence[0] == "t: 2147483647 streams, 3 partitions"
    assert found.evidence[1] == (
        "idle: g_a-100, g_a-1000, g_a-10000, g_a-100000, g_a-1000000 and 2147483639 more"
    )
    world = DiagnosedCluster(t=2, u=2)
    world.register("g_a", 1, t=most, u=1)
    found = world.finding(Code.SUBSCRIPTIONS_UNEQUAL)
    assert found.evidence[-1] == "only t is read by g_a-1, g_a-10, g_a-100 and 2147483643 more"
