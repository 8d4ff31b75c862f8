"""A member's moves, one event at a time: what it does, and what it must not."""

from tests.support.lone_member import A0, A1, B0, TOPICS, Member, eager, of_kind, parts
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition


def test_nothing_happens_before_the_first_poll() -> None:
    """Subscribing asks nobody; the first poll looks for the coordinator, and then joins."""
    member = Member()
    assert member.notify(ev.Subscribed(TOPICS)) == []
    assert member.core.next_deadline_ms() is None
    assert member.poll() == [ev.FindCoordinator(1)]
    (join,) = member.notify(ev.CoordinatorLocated(1))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.topics, join.cause) == ("", TOPICS, ev.JoinReason.JOINED)
    assert member.core.state is MembershipState.PREPARING


def test_a_share_is_taken_over_in_a_poll_only() -> None:
    """SyncGroup's answer makes the member stable, but its partitions wait for the caller."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.core.state is MembershipState.COMPLETING
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, frozenset())
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, member.core.owned) == (parts(A0), parts(A0))


def test_the_leader_assigns_for_all() -> None:
    """A leader gets the members, and sends everybody's share."""
    member = Member()
    join = member.subscribe()
    members = (ev.JoinedMember("me", TOPICS), ev.JoinedMember("other", TOPICS))
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
    """KIP-814: it leads, but sends no shares."""
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


def test_an_eager_member_gives_up_all_before_it_joins_and_in_a_poll() -> None:
    """Heard of a rebalance between polls, it waits for the next one, beating on."""
    member = eager()
    member.take(parts(A0, B0))
    assert member.beat(E.REBALANCE_IN_PROGRESS) == []
    (given,) = member.poll()
    assert isinstance(given, ev.RevokePartitions)
    assert (given.partitions, given.why) == (parts(A0, B0), RevocationKind.REVOKED)
    assert member.core.owned == frozenset()
    (join,) = member.notify(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.remembered, join.generation) == (frozenset(), parts(A0, B0), 1)
    assert join.member_id == "me"


def test_a_cooperative_member_joins_again_while_the_caller_works() -> None:
    """Nothing need be given up, so no poll is waited for; what it has it reads on."""
    member = Member()
    member.take(parts(A0, B0))
    (join,) = member.beat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.generation) == (parts(A0, B0), 1)
    assert member.core.owned == parts(A0, B0)


def test_what_a_cooperative_share_lacks_is_given_up_and_the_group_joined_again() -> None:
    """KIP-429's two phases: out first, told by a second join that no longer claims it."""
    member = Member()
    member.take(parts(A0, A1))
    (join,) = member.beat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    sync = member.joined(join, 2)
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == parts(A0, A1)
    (given,) = member.poll()
    assert isinstance(given, ev.RevokePartitions)
    assert (given.partitions, given.why) == (parts(A1), RevocationKind.REVOKED)
    (taken,) = member.notify(ev.CallbackDone(given.round))
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, taken.owned) == (parts(B0), parts(A0, B0))
    (again,) = member.notify(ev.CallbackDone(taken.round))
    assert isinstance(again, ev.SendJoin)
    assert (again.owned, again.generation, again.cause) == (parts(A0, B0), 2, ev.JoinReason.REVOKED)


def test_what_is_no_longer_subscribed_goes_before_the_join() -> None:
    """A cooperative member keeps only what it still reads."""
    member = Member()
    member.take(parts(A0, B0))
    assert member.notify(ev.Subscribed(frozenset({"a"}))) == []
    (given,) = member.poll()
    assert isinstance(given, ev.RevokePartitions)
    assert given.partitions == parts(B0)
    (join,) = member.notify(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.topics) == (parts(A0), frozenset({"a"}))


def test_a_share_of_an_older_subscription_is_not_taken_over() -> None:
    """The topics changed on the way: it joins again, and keeps its claim."""
    member = Member()
    join = member.subscribe()
    sync = member.joined(join)
    member.notify(ev.Subscribed(frozenset({"a"})))
    member.notify(ev.SyncCompleted(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == frozenset()
    (again,) = member.later(1000)
    assert isinstance(again, ev.SendJoin)
    assert again.topics == {"a"}


def test_the_id_that_is_required_is_used_at_once() -> None:
    """The next JoinGroup follows without a pause (KIP-394)."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(round=join.round, code=E.MEMBER_ID_REQUIRED, member_id="given")
    (again,) = member.notify(response)
    assert isinstance(again, ev.SendJoin)
    assert (again.member_id, again.cause) == ("given", ev.JoinReason.MEMBER_ID)


def test_a_member_that_stops_polling_leaves_and_comes_back_and_says_so() -> None:
    """Its partitions are void at once; the next poll tells the listener, and joins as new."""
    member = eager()
    member.take(parts(A0))
    for _ in range(99):
        assert member.beat(0) == []
    message = member.later(member.settings.heartbeat_interval_ms)
    notice, leave, fence = message
    assert isinstance(notice, ev.Notice)
    assert "max.poll.interval.ms" in notice.text
    assert leave == ev.SendLeave("me", "consumer poll timeout has expired.")
    assert isinstance(fence, ev.FenceMember)
    assert (member.core.owned, member.core.state) == (frozenset(), MembershipState.UNJOINED)
    assert member.later(1_000_000) == []
    back, given = member.poll()
    assert isinstance(back, ev.Notice)
    assert isinstance(given, ev.RevokePartitions)
    assert (given.partitions, given.why) == (parts(A0), RevocationKind.LOST)
    (join,) = member.notify(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.cause) == ("", ev.JoinReason.CAME_BACK)


def test_a_silent_member_that_had_nothing_waits_for_a_poll_too() -> None:
    """Nothing is there to tell the listener, and still nobody would read what it got."""
    member = eager()
    member.take(parts())
    assert of_kind(member.later(300_000), ev.SendLeave)
    assert member.later(1_000) == []
    notice, join = member.poll()
    assert isinstance(notice, ev.Notice)
    assert isinstance(join, ev.SendJoin)


def test_a_static_member_that_gets_what_it_does_not_want_leaves_and_joins_anew() -> None:
    """Its broker compares a join with the one that it came back with: nothing changed, it finds."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    sync = member.joined(member.subscribe())
    foreign = frozenset({TopicPartition("another", 0)})
    assert member.notify(ev.SyncCompleted(sync.round, 0, foreign)) == []
    (join,) = of_kind(member.later(10_000), ev.SendJoin)
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.cause) == ("me", ev.JoinReason.MISFIT)
    sync = member.joined(join)
    (leave,) = member.notify(ev.SyncCompleted(sync.round, 0, foreign))
    assert isinstance(leave, ev.SendLeave)
    assert leave.member_id == "me"
    (join,) = of_kind(member.later(10_000), ev.SendJoin)
    assert isinstance(join, ev.SendJoin)
    assert join.member_id == ""
    sync = member.joined(join, 2)
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)


def test_a_static_member_never_says_good_bye() -> None:
    """KIP-345: its partitions wait for it, for as long as a session lives."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    member.take(parts(A0))
    assert of_kind(member.notify(ev.Leave()), ev.SendLeave) == []


def test_leaving_gives_up_what_is_ours_and_says_good_bye() -> None:
    """In this order, so that the commit comes before the good-bye."""
    member = Member()
    member.take(parts(A0))
    given, leave = member.notify(ev.Leave())
    assert isinstance(given, ev.RevokePartitions)
    assert given.why is RevocationKind.REVOKED
    assert leave == ev.SendLeave("me", "the consumer is being closed")
    assert member.core.next_deadline_ms() is None


def test_what_was_due_and_is_done_is_not_due_again() -> None:
    """Whoever waits until the next deadline would spin."""
    member = Member()
    member.notify(ev.Subscribed(TOPICS))
    (search,) = member.poll()
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorUnknown(search.round, E.COORDINATOR_NOT_AVAILABLE))
    due_ms = member.core.next_deadline_ms()
    assert due_ms is not None
    assert due_ms > member.now_ms
    (again,) = member.later(due_ms - member.now_ms)
    assert isinstance(again, ev.FindCoordinator)
    assert member.core.next_deadline_ms() is None  # the answer comes when it comes
