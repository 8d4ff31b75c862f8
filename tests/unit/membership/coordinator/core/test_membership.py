"""A member's actions, event by event."""

from tests.support.lone_member import A0, A1, B0, TOPICS, Member, eager, of_kind, parts
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition


def test_nothing_happens_before_the_first_poll() -> None:
    """Subscribing sends no request; the first poll finds the coordinator, then the member joins."""
    member = Member()
    assert member.notify(ev.Subscribed(TOPICS)) == []
    assert member.core.next_deadline_ms() is None
    assert member.poll() == [ev.FindCoordinator(1)]
    (join,) = member.notify(ev.CoordinatorLocated(1))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.topics, join.cause) == ("", TOPICS, ev.JoinReason.JOINED)
    assert member.core.state is MembershipState.PREPARING


def test_an_assignment_is_taken_over_only_in_a_poll() -> None:
    """The response to SyncGroup makes the member stable; a poll takes its partitions over."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.core.state is MembershipState.COMPLETING
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, frozenset())
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, member.core.owned) == (parts(A0), parts(A0))


def test_the_leader_assigns_for_all() -> None:
    """The leader gets all members' subscriptions, and sends everybody's assignment."""
    member = Member()
    join = member.subscribe()
    members = dict.fromkeys(("me", "other"), MemberView(topics=TOPICS))
    response = ev.JoinCompleted(
        round=join.round,
        code=0,
        member_id="me",
        generation=4,
        protocol="cooperative-sticky",
        leader_id="me",
        members=members,
    )
    (assign,) = member.notify(response)
    assert isinstance(assign, ev.Assign)
    assert assign.members == members
    shares = {"me": (A0,), "other": (A1,)}
    (sync,) = member.notify(ev.AssignmentMade(assign.round, shares))
    assert isinstance(sync, ev.SendSync)
    assert (sync.generation, sync.protocol, sync.shares) == (4, "cooperative-sticky", shares)
    assert member.core.identity.leading
    member.notify(ev.SyncCompleted(sync.round, E.REBALANCE_IN_PROGRESS))
    assert member.core.state is MembershipState.PREPARING
    assert not member.core.identity.leading


def test_a_static_leader_that_came_back_does_not_assign() -> None:
    """KIP-814: it is the leader, but sends no assignments."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    join = member.subscribe()
    response = ev.JoinCompleted(
        round=join.round,
        code=0,
        member_id="me",
        generation=4,
        protocol="range",
        leader_id="me",
        skip_assignment=True,
    )
    (sync,) = member.notify(response)
    assert isinstance(sync, ev.SendSync)
    assert not sync.shares
    assert member.core.identity.leading


def test_an_eager_member_revokes_everything_in_a_poll_before_it_joins() -> None:
    """If a heartbeat reports a rebalance between polls, the member waits for the next poll."""
    member = eager()
    member.take_assignment(parts(A0, B0))
    assert member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS) == []
    (revoked,) = member.poll()
    assert isinstance(revoked, ev.RevokePartitions)
    assert (revoked.partitions, revoked.why) == (parts(A0, B0), RevocationKind.REVOKED)
    assert member.core.owned == frozenset()
    (join,) = member.notify(ev.CallbackDone(revoked.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.remembered, join.generation) == (frozenset(), parts(A0, B0), 1)
    assert join.member_id == "me"


def test_a_cooperative_member_joins_again_while_the_caller_works() -> None:
    """Nothing must be revoked first, so it waits for no poll, and continues to read."""
    member = Member()
    member.take_assignment(parts(A0, B0))
    (join,) = member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.generation) == (parts(A0, B0), 1)
    assert member.core.owned == parts(A0, B0)


def test_a_cooperative_member_revokes_what_it_lost_and_joins_again() -> None:
    """KIP-429 has two phases: revoke first, then join again without these partitions."""
    member = Member()
    member.take_assignment(parts(A0, A1))
    (join,) = member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    sync = member.joined(join, 2)
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == parts(A0, A1)
    (revoked,) = member.poll()
    assert isinstance(revoked, ev.RevokePartitions)
    assert (revoked.partitions, revoked.why) == (parts(A1), RevocationKind.REVOKED)
    (taken,) = member.notify(ev.CallbackDone(revoked.round))
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, taken.owned) == (parts(B0), parts(A0, B0))
    (again,) = member.notify(ev.CallbackDone(taken.round))
    assert isinstance(again, ev.SendJoin)
    assert (again.owned, again.generation, again.cause) == (parts(A0, B0), 2, ev.JoinReason.REVOKED)


def test_partitions_no_longer_subscribed_are_revoked_before_the_join() -> None:
    """A cooperative member keeps only partitions of topics that it still reads."""
    member = Member()
    member.take_assignment(parts(A0, B0))
    assert member.notify(ev.Subscribed(frozenset({"a"}))) == []
    (revoked,) = member.poll()
    assert isinstance(revoked, ev.RevokePartitions)
    assert revoked.partitions == parts(B0)
    (join,) = member.notify(ev.CallbackDone(revoked.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.topics) == (parts(A0), frozenset({"a"}))


def test_an_assignment_for_an_older_subscription_is_not_taken_over() -> None:
    """The topics changed in between: it joins again, with the present subscription."""
    member = Member()
    join = member.subscribe()
    sync = member.joined(join)
    member.notify(ev.Subscribed(frozenset({"a"})))
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == frozenset()
    (again,) = member.advance(1000)
    assert isinstance(again, ev.SendJoin)
    assert again.topics == {"a"}


def test_a_required_member_id_is_used_at_once() -> None:
    """The next JoinGroup follows without a pause (KIP-394)."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(round=join.round, code=E.MEMBER_ID_REQUIRED, member_id="required")
    (again,) = member.notify(response)
    assert isinstance(again, ev.SendJoin)
    assert (again.member_id, again.cause) == ("required", ev.JoinReason.MEMBER_ID)


def test_a_member_that_stops_polling_leaves_and_joins_at_its_next_poll() -> None:
    """Its partitions are void at once; the next poll calls the listener and joins as new member."""
    member = eager()
    member.take_assignment(parts(A0))
    for _ in range(99):
        assert member.respond_to_heartbeat(0) == []
    actions = member.advance(member.settings.heartbeat_interval_ms)
    notice, leave, fence = actions
    assert isinstance(notice, ev.Notice)
    assert "max.poll.interval.ms" in notice.text
    assert leave == ev.SendLeave("me", "consumer poll timeout has expired.")
    assert isinstance(fence, ev.FenceMember)
    assert (member.core.owned, member.core.state) == (frozenset(), MembershipState.UNJOINED)
    assert member.advance(1_000_000) == []
    back, revoked = member.poll()
    assert isinstance(back, ev.Notice)
    assert isinstance(revoked, ev.RevokePartitions)
    assert (revoked.partitions, revoked.why) == (parts(A0), RevocationKind.LOST)
    (join,) = member.notify(ev.CallbackDone(revoked.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.cause) == ("", ev.JoinReason.POLLED_AGAIN)


def test_a_silent_member_without_partitions_waits_for_a_poll_too() -> None:
    """Nothing has to be reported to the listener, but nobody would read what it was assigned."""
    member = eager()
    member.take_assignment(parts())
    assert of_kind(member.advance(300_000), ev.SendLeave)
    assert member.advance(1_000) == []
    notice, join = member.poll()
    assert isinstance(notice, ev.Notice)
    assert isinstance(join, ev.SendJoin)


def test_a_static_member_with_an_unsubscribed_topic_assigned_leaves_and_rejoins() -> None:
    """The broker sees no change since the earlier join, and would assign the same again."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    sync = member.joined(member.subscribe())
    foreign = frozenset({TopicPartition("another", 0)})
    assert member.notify(ev.SyncCompleted(sync.round, 0, foreign)) == []
    (join,) = of_kind(member.advance(10_000), ev.SendJoin)
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.cause) == ("me", ev.JoinReason.WRONG_ASSIGNMENT)
    sync = member.joined(join)
    (leave,) = member.notify(ev.SyncCompleted(sync.round, 0, foreign))
    assert isinstance(leave, ev.SendLeave)
    assert leave.member_id == "me"
    (join,) = of_kind(member.advance(10_000), ev.SendJoin)
    assert isinstance(join, ev.SendJoin)
    assert join.member_id == ""
    sync = member.joined(join, 2)
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)


def test_a_static_member_sends_no_leave_group() -> None:
    """KIP-345: its partitions stay assigned to it until the session times out."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    member.take_assignment(parts(A0))
    assert of_kind(member.notify(ev.Leave()), ev.SendLeave) == []


def test_leaving_revokes_the_partitions_and_sends_leave_group() -> None:
    """In this order, so that offsets are committed before LeaveGroup is sent."""
    member = Member()
    member.take_assignment(parts(A0))
    revoked, leave = member.notify(ev.Leave())
    assert isinstance(revoked, ev.RevokePartitions)
    assert revoked.why is RevocationKind.REVOKED
    assert leave == ev.SendLeave("me", "the consumer is being closed")
    assert member.core.next_deadline_ms() is None


def test_an_action_that_was_taken_is_no_longer_due() -> None:
    """Otherwise a caller that waits until the next deadline would spin."""
    member = Member()
    member.notify(ev.Subscribed(TOPICS))
    (search,) = member.poll()
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorUnknown(search.round, E.COORDINATOR_NOT_AVAILABLE))
    due_ms = member.core.next_deadline_ms()
    assert due_ms is not None
    assert due_ms > member.now_ms
    (again,) = member.advance(due_ms - member.now_ms)
    assert isinstance(again, ev.FindCoordinator)
    assert member.core.next_deadline_ms() is None  # nothing is due until the response
