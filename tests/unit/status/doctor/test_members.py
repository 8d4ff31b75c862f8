"""Registrations that are stale, unreadable, of foreign clients, idle, or wrongly dated."""

from tests.support.diagnosed_cluster import LONG_AGO_MS, NOW_MS, DiagnosedCluster, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.diagnosis import Code, Severity

T0 = TopicPartition("t", 0)
IDS = "/consumers/g/ids"


def test_a_healthy_group_has_no_findings() -> None:
    """A healthy group has no findings, with and without the list of live sessions."""
    world = healthy()
    assert world.findings() == ()
    world.live = frozenset({1, 2})
    assert world.findings() == ()


def test_a_persistent_registration_is_stale_and_can_be_deleted() -> None:
    """A persistent registration has no member, and gets partitions that nobody reads."""
    world = DiagnosedCluster(t=2)
    world.register("g_a", 1, t=1)
    world.register("g_b", 0, t=1)
    world.own(T0, "g_a-0", 1)
    found = world.finding(Code.MEMBER_STALE)
    assert found.severity is Severity.ERROR
    assert "persistent" in found.evidence[0]
    assert f"{IDS}/g_b" in found.evidence[0]
    assert found.fix is not None
    world.repair(found.fix)
    assert world.tree.children(IDS) == ["g_a"]
    assert Code.MEMBER_STALE not in codes(world.findings())


def test_a_registration_of_a_dead_session_is_stale() -> None:
    """A registration of a session that ZooKeeper does not list is stale, unless it is very new."""
    world = healthy()
    world.live = frozenset({1})
    found = world.finding(Code.MEMBER_STALE)
    assert "session 0x2" in found.evidence[0]
    assert found.fix is not None
    assert [write.path for write in found.fix.writes] == [f"{IDS}/g_b-1399996300000-0a0b0c0d"]
    young = DiagnosedCluster(t=1)
    young.clock_ms = NOW_MS - 1000
    young.register("g_a", 7, t=1)
    young.own(T0, "g_a-0", 7)
    young.live = frozenset()
    assert young.findings() == ()


def test_a_bare_topic_name_is_pykafkas() -> None:
    """A registration of a bare topic name is pykafka's, and stops the group's Scala members."""
    world = healthy()
    world.create_node(f"{IDS}/g_x:4a", b"t", 3)
    found = world.finding(Code.MEMBER_FOREIGN)
    assert found.severity is Severity.ERROR
    assert "pykafka" in " ".join(found.evidence)
    assert found.fix is not None
    world.repair(found.fix)
    assert world.findings() == ()


def test_a_group_of_pykafkas_alone_is_left_alone() -> None:
    """In a group of pykafka's members alone no registration is offered for deletion.

    Such a group works: they share partitions among themselves.
    """
    world = DiagnosedCluster(t=2)
    world.create_node(f"{IDS}/host1:4a", b"t", 3)
    world.create_node(f"{IDS}/host2:4b", b"t", 4)
    found = world.finding(Code.MEMBER_FOREIGN)
    assert (found.severity, found.fix) == (Severity.WARNING, None)
    assert len(found.evidence) == 2
    world.register("g_left", 0, t=1)
    assert [finding.code for finding in world.findings() if finding.fix is not None] == [
        Code.MEMBER_STALE
    ]
    world.register("g_a", 1, t=1)
    assert codes(world.findings()).count(Code.MEMBER_FOREIGN) == 2


def test_an_unreadable_registration_is_reported_with_its_content() -> None:
    """An unreadable registration is reported with its content and its session."""
    world = healthy()
    world.create_node(f"{IDS}/g_x", b'{"version":1', 3)
    found = world.finding(Code.MEMBER_UNREADABLE)
    assert '{"version":1' in found.evidence[0]
    assert found.evidence[1].startswith("why: not JSON")
    assert "session 0x3" in found.evidence[2]


def test_a_garbage_registration_that_was_corrected_stays() -> None:
    """A registration that was corrected meanwhile is not deleted by the repair."""
    world = healthy()
    world.create_node(f"{IDS}/g_x", b"{", 3)
    fix = world.finding(Code.MEMBER_UNREADABLE).fix
    assert fix is not None
    world.remove(f"{IDS}/g_x")
    world.register("g_x", 3, t=1)
    plan = world.repair(fix)
    assert not plan.writes
    assert "now holds" in plan.skipped[f"{IDS}/g_x"]


def test_a_number_that_scala_can_not_read_stops_the_others() -> None:
    """A number that Scala can't read is an error if there are other members, else a warning."""
    data = b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":1399996400000}'
    world = DiagnosedCluster(t=1)
    world.create_node(f"{IDS}/g_x", data, 1)
    world.own(T0, "g_x-0", 1)
    assert world.finding(Code.MEMBER_UNREADABLE_BY_SCALA).severity is Severity.WARNING
    world.register("g_y", 2, t=1)
    found = world.finding(Code.MEMBER_UNREADABLE_BY_SCALA)
    assert found.severity is Severity.ERROR
    assert "1399996400000 is not a 32-bit integer" in found.evidence[0]


def test_a_regex_that_we_can_not_expand_is_not_called_garbage() -> None:
    """A regex that we can't expand is no garbage: Scala reads it, and we don't know its topics."""
    world = DiagnosedCluster(t=1)
    text = r'{"version":1,"subscription":{"[a[b]]":1},"pattern":"white_list","timestamp":"1"}'
    world.create_node(f"{IDS}/g_x", text.encode(), 1)
    world.own(T0, "g_x-0", 1)
    assert Code.MEMBER_NOT_UNDERSTOOD in codes(world.findings())
    assert not {Code.MEMBER_UNREADABLE, Code.OWNER_NOT_SUBSCRIBED} & set(codes(world.findings()))


def test_of_several_regexes_only_the_first_counts() -> None:
    """Of several regexes in a registration, as kafka-node writes it, only the first counts."""
    world = DiagnosedCluster(t=1, u=1)
    text = b'{"version":1,"subscription":{"t":1,"u":1},"pattern":"white_list","timestamp":"1"}'
    world.create_node(f"{IDS}/g_x", text, 1)
    world.own(T0, "g_x-0", 1)
    found = world.finding(Code.MEMBER_FOREIGN)
    assert found.severity is Severity.WARNING
    assert "names t, u" in found.evidence[0]


def test_a_member_without_partitions_of_its_share_is_idle() -> None:
    """A member without partitions while its share is unowned is idle: it gave up claiming."""
    world = healthy()
    for topic in "tu":
        for number in (2, 3):
            world.remove(f"/consumers/g/owners/{topic}/{number}")
    found = world.finding(Code.MEMBER_IDLE)
    assert found.evidence == ("g_b-1399996300000-0a0b0c0d: nobody has t-2, t-3, u-2, u-3",)
    assert found.fix is None


def test_a_group_that_just_changed_is_given_time() -> None:
    """A member that joined a moment ago is not idle yet."""
    world = DiagnosedCluster(t=2)
    world.register("g_a", 1, t=1)
    world.clock_ms = NOW_MS - 5000
    world.register("g_b", 2, t=1)
    world.own(T0, "g_a-0", 1)
    found = world.findings()
    assert codes(found) == ["owner-missing"]
    assert found[0].severity is Severity.NOTE


def test_times_that_are_far_from_zookeepers_are_reported() -> None:
    """A registration whose own date, or whose id's, is far from ZooKeeper's is reported."""
    world = DiagnosedCluster(t=2)
    world.register("g_a-1399996300000-0a", 1, t=1)
    world.register(f"g_b-{LONG_AGO_MS + 7_200_000}-0b", 2, t=1)
    world.assign()
    found = world.finding(Code.MEMBER_TIME_FAR_OFF)
    assert found.evidence == (
        f"g_b-{LONG_AGO_MS + 7_200_000}-0b: its id is 7200 s ahead of its registration",
    )
    world.create_node(
        f"{IDS}/g_c",
        b'{"version":1,"subscription":{},"pattern":"static","timestamp":"1399990000000"}',
        3,
    )
    assert (
        world.finding(Code.MEMBER_TIME_FAR_OFF)
        .evidence[1]
        .startswith("g_c: its registration is dated 6400 s before")
    )


def test_an_old_process_that_registered_again_is_no_finding() -> None:
    """An old id is fine: a long-running process may have registered in a new session."""
    world = DiagnosedCluster(t=1)
    world.register("g_a-1300000000000-0a", 1, t=1)
    world.assign()
    assert world.findings() == ()
