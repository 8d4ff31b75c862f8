"""The rebalances of a group, derived from successive snapshots of it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.support.status import group_of, member, snapshot_of
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.causes import ObservedGroup, Reason, RebalanceReason, reasons_between
from zkconsumer.status.model import (
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.set_back import CLOCK_SET_BACK_MS
from zkconsumer.status.timeline import GroupTimeline, Moved, Rebalance, Timelines

IDS = {"t": (0, 1)}
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
A, B = member("g_a", {"t": 1}), member("g_b", {"t": 1}, session_id=2)
REST, BUSY = GroupState.STABLE, GroupState.REBALANCING


def _observed(
    at_ms: int,
    owners: tuple[str | None, str | None],
    *members: MemberStatus,
    state: GroupState = REST,
    since_ms: int | None = None,
) -> GroupStatus:
    owned = [
        GroupPartition(tp, owner, None, since_ms)
        for tp, owner in zip((P0, P1), owners, strict=True)
    ]
    return replace(group_of(*owned, members=members), seen_ms=at_ms, state=state)


def _timeline(*snapshots: GroupStatus) -> GroupTimeline:
    timeline = GroupTimeline(snapshots[0].key)
    for snapshot in snapshots:
        timeline.receive(snapshot, IDS)
    return timeline


ALONE = _observed(1000, ("g_a-0", "g_a-0"), A)


def test_a_group_at_rest_has_no_timeline() -> None:
    """A group at rest has no rebalances, however often it is read."""
    assert _timeline(ALONE, replace(ALONE, seen_ms=2000)).rebalances == ()


def test_an_incomplete_snapshot_says_nothing() -> None:
    """An incomplete snapshot says nothing: unread members and owners have not left."""
    part = replace(_observed(2000, (None, None), state=GroupState.UNKNOWN), is_complete=False)
    timeline = _timeline(ALONE, part, replace(ALONE, seen_ms=3000))
    assert timeline.rebalances == ()


def test_a_rebalance_lasts_from_its_first_sign_until_all_is_at_rest() -> None:
    """A rebalance lasts from the first sign of it until the group is at rest.

    It has the reasons and moves of all snapshots in between.
    """
    timeline = GroupTimeline(ALONE.key)
    assert timeline.receive(ALONE, IDS) is None
    begun = timeline.receive(_observed(2000, ("g_a-0", None), A, B, state=BUSY), IDS)
    assert begun is not None
    assert timeline.rebalances == (begun,)
    assert (begun.began_ms, begun.not_before_ms, begun.ended_ms) == (2000, 1000, None)
    assert begun.moved == (Moved(P1, "g_a-0", None),)
    assert begun.lasted_ms(2700) == 700
    assert timeline.receive(_observed(3000, ("g_a-0", None), A, B, state=BUSY), IDS) is None
    ended = timeline.receive(_observed(4000, ("g_a-0", "g_b-0"), A, B), IDS)
    assert ended == Rebalance(
        key=ALONE.key,
        began_ms=2000,
        not_before_ms=1000,
        ended_ms=4000,
        reasons=(Reason(RebalanceReason.JOINED, "g_b"),),
        moved=(Moved(P1, "g_a-0", "g_b-0"),),
    )
    assert ended.lasted_ms(9000) == 2000
    assert timeline.rebalances == (ended,)


def test_a_partition_that_comes_back_has_not_moved() -> None:
    """A partition that comes back to its owner has not moved: the original releases all first."""
    busy = _observed(2000, (None, None), A, B, state=BUSY)
    timeline = _timeline(ALONE, busy, _observed(3000, ("g_a-0", "g_b-0"), A, B))
    assert timeline.rebalances[0].moved == (Moved(P1, "g_a-0", "g_b-0"),)


def test_a_rebalance_between_two_snapshots_begins_and_ends_with_the_second() -> None:
    """A rebalance between two snapshots begins and ends with the second."""
    timeline = _timeline(ALONE, _observed(2000, ("g_a-0", "g_b-0"), A, B))
    (only,) = timeline.rebalances
    assert (only.not_before_ms, only.began_ms, only.ended_ms) == (1000, 2000, 2000)


def test_owners_that_change_soon_after_belong_to_it() -> None:
    """Owners that change soon after a member joined belong to the same rebalance."""
    joined = _observed(2000, ("g_a-0", "g_a-0"), A, B)
    timeline = _timeline(ALONE, joined, _observed(3000, ("g_a-0", "g_b-0"), A, B))
    (only,) = timeline.rebalances
    assert (only.began_ms, only.ended_ms, only.reasons) == (
        2000,
        3000,
        (Reason(RebalanceReason.JOINED, "g_b"),),
    )
    late = _timeline(ALONE, joined, _observed(40_000, ("g_a-0", "g_b-0"), A, B))
    assert [rebalance.began_ms for rebalance in late.rebalances] == [2000, 40_000]


def test_another_reason_begins_another_rebalance() -> None:
    """A new reason begins a new rebalance, even immediately after one."""
    timeline = _timeline(
        ALONE, _observed(2000, ("g_a-0", "g_b-0"), A, B), _observed(3000, ("g_a-0", "g_a-0"), A)
    )
    assert [str(*rebalance.reasons) for rebalance in timeline.rebalances] == [
        "member g_b joined",
        "member g_b left",
    ]


def test_recreated_owner_nodes_show_a_rebalance_that_moved_nothing() -> None:
    """Owner nodes that were created again show a rebalance that moved nothing."""
    before = _observed(1000, ("g_a-0", None), A, since_ms=5)
    timeline = _timeline(before, _observed(2000, ("g_a-0", None), A, since_ms=6))
    (only,) = timeline.rebalances
    assert (only.reclaimed, only.moved, only.reasons) == (2, (), ())
    unknown = _timeline(before, _observed(2000, ("g_a-0", None), A))
    assert unknown.rebalances == ()


def test_a_long_rebalance_adds_up() -> None:
    """A long rebalance has each reason once, and counts every recreated owner node."""
    snapshots = [
        _observed(1000 * n, ("g_a-0", None), *members, state=BUSY, since_ms=n)
        for n, members in enumerate([(A,), (A, B), (A,), (A, B)])
    ]
    (only,) = _timeline(*snapshots).rebalances
    assert [str(reason) for reason in only.reasons] == ["member g_b joined", "member g_b left"]
    assert only.reclaimed == 6


def test_a_snapshot_that_is_not_newer_is_dropped() -> None:
    """A snapshot that is not newer is dropped."""
    timeline = _timeline(ALONE, _observed(1000, (None, None), state=BUSY))
    assert timeline.rebalances == ()


def test_a_group_that_is_never_at_rest_has_one_rebalance() -> None:
    """A group that is never at rest has one rebalance, whose start is unknown."""
    stuck = [_observed(at_ms, (None, None), A, state=BUSY) for at_ms in (1000, 2000, 90_000)]
    (only,) = _timeline(*stuck).rebalances
    assert (only.began_ms, only.not_before_ms, only.ended_ms) == (1000, None, None)
    assert only.lasted_ms(90_000) == 89_000


def test_an_unknown_state_ends_nothing_and_begins_nothing() -> None:
    """A snapshot of unknown state neither begins nor ends a rebalance."""
    blind = _observed(2000, ("g_a-0", "g_a-0"), A, state=GroupState.UNKNOWN)
    assert _timeline(ALONE, blind).rebalances == ()
    busy = _observed(2000, (None, None), A, state=BUSY)
    timeline = _timeline(ALONE, busy, replace(busy, seen_ms=3000, state=GroupState.UNKNOWN))
    assert timeline.rebalances[-1].ended_ms is None
    assert timeline.receive(ALONE, IDS) is None
    assert timeline.rebalances[-1].ended_ms is None
    left = _observed(2000, (None, None), state=GroupState.UNKNOWN)
    assert [rebalance.ended_ms for rebalance in _timeline(ALONE, left).rebalances] == [2000]


def test_only_the_latest_rebalances_are_kept() -> None:
    """Only the latest rebalances are kept."""
    timeline = GroupTimeline(ALONE.key, limit=2)
    for n in range(6):
        members = (A, B) if n % 2 else (A,)
        timeline.receive(_observed(1000 * n, ("g_a-0", "g_a-0"), *members), IDS)
    assert [rebalance.began_ms for rebalance in timeline.rebalances] == [4000, 5000]


HOME = replace(member("g_h-1", {"t": 1}), host="h")
MOVED_HOME = replace(member("g_h-2", {"t": 1}, session_id=7), host="h")
STATIC = MemberStatus(member_id="m-1", instance_id="i", client_id="c", host="h")


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ((A,), (A,), ()),
        ((A,), (A, B), (Reason(RebalanceReason.JOINED, "g_b"),)),
        ((A, B), (B,), (Reason(RebalanceReason.LEFT, "g_a"),)),
        ((A,), (B,), (Reason(RebalanceReason.JOINED, "g_b"), Reason(RebalanceReason.LEFT, "g_a"))),
        ((HOME,), (MOVED_HOME,), (Reason(RebalanceReason.RESTARTED, "g_h-2", "g_h-1"),)),
        (
            (HOME,),
            (MOVED_HOME, replace(MOVED_HOME, member_id="g_h-3")),
            (
                Reason(RebalanceReason.RESTARTED, "g_h-2", "g_h-1"),
                Reason(RebalanceReason.JOINED, "g_h-3"),
            ),
        ),
        ((A,), (replace(A, session_id=9),), (Reason(RebalanceReason.NEW_SESSION, "g_a"),)),
        ((A,), (replace(A, session_id=None),), ()),
        ((A,), (replace(A, streams={"t": 2}),), (Reason(RebalanceReason.SUBSCRIPTION, "g_a"),)),
        ((A,), (replace(A, problem="?"),), (Reason(RebalanceReason.BROKEN_REGISTRATION, "g_a"),)),
        ((replace(A, problem="!"),), (replace(A, problem="?"),), ()),
        (
            (),
            (replace(A, problem="?"),),
            (
                Reason(RebalanceReason.JOINED, "g_a"),
                Reason(RebalanceReason.BROKEN_REGISTRATION, "g_a"),
            ),
        ),
        (
            (STATIC,),
            (replace(STATIC, member_id="m-2", host="other"),),
            (Reason(RebalanceReason.RESTARTED, "m-2", "m-1"),),
        ),
        (
            (STATIC,),
            (replace(STATIC, member_id="m-2", instance_id=None),),
            (Reason(RebalanceReason.JOINED, "m-2"), Reason(RebalanceReason.LEFT, "m-1")),
        ),
        (
            (STATIC,),
            (replace(STATIC, member_id="m-2", instance_id="j"),),
            (Reason(RebalanceReason.JOINED, "m-2"), Reason(RebalanceReason.LEFT, "m-1")),
        ),
    ],
)
def test_members_give_reasons(
    before: tuple[MemberStatus, ...],
    after: tuple[MemberStatus, ...],
    reasons: tuple[Reason, ...],
) -> None:
    """Members give reasons by joining, leaving, and changing their registrations."""
    snapshots = [ObservedGroup(group_of(members=members), IDS) for members in (before, after)]
    assert reasons_between(*snapshots) == reasons


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ({"t": (0,)}, {"t": (0, 1)}, (Reason(RebalanceReason.TOPIC_GREW, "t"),)),
        ({"t": (0, 1)}, {"t": (0,)}, ()),
        ({"u": ()}, {"u": (), "t": ()}, (Reason(RebalanceReason.TOPIC_CREATED, "t"),)),
        ({"t": (0,), "u": ()}, {"u": ()}, (Reason(RebalanceReason.TOPIC_GONE, "t"),)),
        ({"t": (0,)}, {"t": (0,), "u": (0,)}, ()),
        ({}, {"t": (0,)}, ()),
        ({"t": (0,)}, {}, ()),
    ],
)
def test_topics_give_reasons_to_groups_that_read_them(
    before: Mapping[str, tuple[int, ...]],
    after: Mapping[str, tuple[int, ...]],
    reasons: tuple[Reason, ...],
) -> None:
    """Topics that grow, appear or disappear are reasons for the groups that read them."""
    group = group_of(members=(A,))
    assert reasons_between(ObservedGroup(group, before), ObservedGroup(group, after)) == reasons


def test_a_regex_that_matches_a_new_topic_is_no_changed_subscription() -> None:
    """A regex that matches a new topic is no changed subscription: the topic is the reason."""
    before = ObservedGroup(group_of(members=(A,)), IDS)
    grown = replace(A, streams={"t": 1, "u": 1})
    after = ObservedGroup(group_of(members=(grown,)), {**IDS, "u": (0,)})
    assert reasons_between(before, after) == (Reason(RebalanceReason.TOPIC_CREATED, "u"),)


@pytest.mark.parametrize("kind", GroupKind)
def test_another_coordinator_is_a_reason_where_there_is_one(kind: GroupKind) -> None:
    """Another coordinator is a reason for a coordinator's group, not for one in ZooKeeper."""
    snapshots = [
        ObservedGroup(replace(group_of(kind=kind), coordinator=Broker(n, "h", 9092)), IDS)
        for n in (1, 2)
    ]
    reported = [str(reason) for reason in reasons_between(*snapshots)]
    moved = ["the coordinator is now broker 2 (h:9092)"]
    assert reported == (moved if kind is GroupKind.COORDINATOR else [])


def test_a_restarted_member_is_named_with_its_former_id() -> None:
    """A restarted member is named with its former id."""
    reason = Reason(RebalanceReason.RESTARTED, "g_h-2", "g_h-1")
    assert str(reason) == "member g_h-2 was restarted (was g_h-1)"


def test_all_groups_of_a_cluster_have_timelines() -> None:
    """Each group has a timeline for as long as it exists."""
    timelines = Timelines()
    other = replace(ALONE, group_id="other")
    assert timelines.record(snapshot_of(ALONE, other, at_ms=1000)) == ()
    later = _observed(2000, ("g_a-0", "g_b-0"), A, B)
    events = timelines.record(snapshot_of(later, replace(later, group_id="other"), at_ms=2000))
    assert [event.key for event in events] == [ALONE.key, other.key]
    assert timelines.rebalances(other.key) == events[1:]
    timelines.record(snapshot_of(replace(later, seen_ms=3000), at_ms=3000))
    assert timelines.rebalances(ALONE.key) == events[:1]
    assert timelines.rebalances(other.key) == ()


def test_a_clock_that_was_set_back_begins_new_timelines() -> None:
    """When the clock was set back new timelines begin, and later rebalances are recorded."""
    timelines, back_ms = Timelines(), CLOCK_SET_BACK_MS
    before = replace(ALONE, seen_ms=1000 + back_ms)
    timelines.record(snapshot_of(before, at_ms=1000 + back_ms))
    assert timelines.record(snapshot_of(ALONE, at_ms=1000, set_back_ms=back_ms)) == ()
    joined = _observed(2000, ("g_a-0", "g_b-0"), A, B)
    [event] = timelines.record(snapshot_of(joined, at_ms=2000, set_back_ms=back_ms))
    assert (event.began_ms, event.not_before_ms, event.ended_ms) == (2000, 1000, 2000)
