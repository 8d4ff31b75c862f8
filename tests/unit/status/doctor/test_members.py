"""Registrations that are of nobody, unreadable, foreign, idle, or out of their time."""

from tests.support.sick_world import LONG_AGO_MS, NOW_MS, SickWorld, codes, healthy
from zkconsumer.model import TopicPartition
from zkconsumer.status.doctor.diagnosis import Code, Severity

T0 = TopicPartition("t", 0)
IDS = "/consumers/g/ids"


def test_a_healthy_group_has_nothing() -> None:
    """No finding at all, with and without the list of living sessions."""
    world = healthy()
    assert world.findings() == ()
    world.live = frozenset({1, 2})
    assert world.findings() == ()


def test_a_persistent_registration_is_stale_and_can_be_deleted() -> None:
    """It is nobody's, and takes a share that nobody reads."""
    world = SickWorld(t=2)
    world.register("g_a", 1, t=1)
    world.register("g_b", 0, t=1)
    world.own(T0, "g_a-0", 1)
    found = world.one(Code.MEMBER_STALE)
    assert found.severity is Severity.ERROR
    assert "persistent" in found.evidence[0]
    assert f"{IDS}/g_b" in found.evidence[0]
    assert found.fix is not None
    world.repair(found.fix)
    assert world.tree.children(IDS) == ["g_a"]
    assert Code.MEMBER_STALE not in codes(world.findings())


def test_a_registration_of_a_dead_session_is_stale() -> None:
    """As far as ZooKeeper tells which sessions are alive; one that just began may be missing."""
    world = healthy()
    world.live = frozenset({1})
    found = world.one(Code.MEMBER_STALE)
    assert "session 0x2" in found.evidence[0]
    assert found.fix is not None
    assert [write.path for write in found.fix.writes] == [f"{IDS}/g_b-1399996300000-0a0b0c0d"]
    young = SickWorld(t=1)
    young.clock_ms = NOW_MS - 1000
    young.register("g_a", 7, t=1)
    young.own(T0, "g_a-0", 7)
    young.live = frozenset()
    assert young.findings() == ()


def test_a_bare_topic_name_is_pykafkas() -> None:
    """Its registration stops the Scala members of the group."""
    world = healthy()
    world.make(f"{IDS}/g_x:4a", b"t", 3)
    found = world.one(Code.MEMBER_FOREIGN)
    assert found.severity is Severity.ERROR
    assert "pykafka" in " ".join(found.evidence)
    assert found.fix is not None
    world.repair(found.fix)
    assert world.findings() == ()


def test_a_group_of_pykafkas_alone_is_left_alone() -> None:
    """They share among themselves: who deletes their registrations stops a group that is well."""
    world = SickWorld(t=2)
    world.make(f"{IDS}/host1:4a", b"t", 3)
    world.make(f"{IDS}/host2:4b", b"t", 4)
    found = world.one(Code.MEMBER_FOREIGN)
    assert (found.severity, found.fix) == (Severity.WARNING, None)
    assert len(found.evidence) == 2
    world.register("g_left", 0, t=1)
    assert [finding.code for finding in world.findings() if finding.fix is not None] == [
        Code.MEMBER_STALE
    ]
    world.register("g_a", 1, t=1)
    assert codes(world.findings()).count(Code.MEMBER_FOREIGN) == 2


def test_garbage_is_told_with_what_it_holds() -> None:
    """Also where nobody knows who wrote it."""
    world = healthy()
    world.make(f"{IDS}/g_x", b'{"version":1', 3)
    found = world.one(Code.MEMBER_UNREADABLE)
    assert '{"version":1' in found.evidence[0]
    assert found.evidence[1].startswith("why: not JSON")
    assert "session 0x3" in found.evidence[2]


def test_a_garbage_registration_that_was_corrected_stays() -> None:
    """What was written since is not deleted."""
    world = healthy()
    world.make(f"{IDS}/g_x", b"{", 3)
    fix = world.one(Code.MEMBER_UNREADABLE).fix
    assert fix is not None
    world.remove(f"{IDS}/g_x")
    world.register("g_x", 3, t=1)
    plan = world.repair(fix)
    assert not plan.writes
    assert "now holds" in plan.skipped[f"{IDS}/g_x"]


def test_a_number_that_scala_cant_read_stops_the_others() -> None:
    """It is no error while the member is alone."""
    data = b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":1399996400000}'
    world = SickWorld(t=1)
    world.make(f"{IDS}/g_x", data, 1)
    world.own(T0, "g_x-0", 1)
    assert world.one(Code.MEMBER_UNREADABLE_BY_SCALA).severity is Severity.WARNING
    world.register("g_y", 2, t=1)
    found = world.one(Code.MEMBER_UNREADABLE_BY_SCALA)
    assert found.severity is Severity.ERROR
    assert "1399996400000 is not a 32-bit integer" in found.evidence[0]


def test_a_filter_that_we_cant_expand_is_not_called_garbage() -> None:
    """Scala members read it; we only don't know what they read."""
    world = SickWorld(t=1)
    text = r'{"version":1,"subscription":{"[a[b]]":1},"pattern":"white_list","timestamp":"1"}'
    world.make(f"{IDS}/g_x", text.encode(), 1)
    world.own(T0, "g_x-0", 1)
    assert Code.MEMBER_NOT_UNDERSTOOD in codes(world.findings())
    assert not {Code.MEMBER_UNREADABLE, Code.OWNER_NOT_SUBSCRIBED} & set(codes(world.findings()))


def test_of_several_expressions_only_the_first_counts() -> None:
    """As kafka-node registers its topics."""
    world = SickWorld(t=1, u=1)
    text = b'{"version":1,"subscription":{"t":1,"u":1},"pattern":"white_list","timestamp":"1"}'
    world.make(f"{IDS}/g_x", text, 1)
    world.own(T0, "g_x-0", 1)
    found = world.one(Code.MEMBER_FOREIGN)
    assert found.severity is Severity.WARNING
    assert "names t, u" in found.evidence[0]


def test_who_owns_nothing_of_what_lies_open_gave_up() -> None:
    """The others have theirs; two partitions are left, and they are this one's share."""
    world = healthy()
    for topic in "tu":
        for number in (2, 3):
            world.remove(f"/consumers/g/owners/{topic}/{number}")
    found = world.one(Code.MEMBER_IDLE)
    assert found.evidence == ("g_b-1399996300000-0a0b0c0d: nobody has t-2, t-3, u-2, u-3",)
    assert found.fix is None


def test_a_group_that_just_changed_is_given_time() -> None:
    """Who came a moment ago owns nothing yet."""
    world = SickWorld(t=2)
    world.register("g_a", 1, t=1)
    world.clock_ms = NOW_MS - 5000
    world.register("g_b", 2, t=1)
    world.own(T0, "g_a-0", 1)
    found = world.findings()
    assert codes(found) == ["owner-missing"]
    assert found[0].severity is Severity.NOTE


def test_times_that_are_far_from_zookeepers_are_told() -> None:
    """By what a registration says of itself, or by the time in an id."""
    world = SickWorld(t=2)
    world.register("g_a-1399996300000-0a", 1, t=1)
    world.register(f"g_b-{LONG_AGO_MS + 7_200_000}-0b", 2, t=1)
    world.settle()
    found = world.one(Code.MEMBER_TIME_FAR_OFF)
    assert found.evidence == (
        f"g_b-{LONG_AGO_MS + 7_200_000}-0b: its id is 7200 s ahead of its registration",
    )
    world.make(
        f"{IDS}/g_c",
        b'{"version":1,"subscription":{},"pattern":"static","timestamp":"1399990000000"}',
        3,
    )
    assert (
        world.one(Code.MEMBER_TIME_FAR_OFF)
        .evidence[1]
        .startswith("g_c: its registration is dated 6400 s before")
    )


def test_an_old_process_that_registered_anew_is_fine() -> None:
    """Its id tells when it started; its session may have ended since."""
    world = SickWorld(t=1)
    world.register("g_a-1300000000000-0a", 1, t=1)
    world.settle()
    assert world.findings() == ()
