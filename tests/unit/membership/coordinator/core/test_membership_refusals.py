"""What a member makes of refusals, silence and late answers."""

from collections.abc import Callable

import pytest

from tests.support.lone_member import A0, TOPICS, Member, of_kind, parts
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition


@pytest.mark.parametrize(
    ("code", "member_id"), [(E.ILLEGAL_GENERATION, "me"), (E.UNKNOWN_MEMBER_ID, "")]
)
def test_a_heartbeat_that_is_refused_voids_what_we_have(code: E, member_id: str) -> None:
    """An old generation keeps its member id; an unknown member doesn't."""
    member = Member()
    member.take(parts(A0))
    (fence,) = member.beat(code)
    assert isinstance(fence, ev.FenceMember)
    assert member.core.owned == frozenset()
    (given,) = member.poll()
    assert isinstance(given, ev.RevokePartitions)
    assert given.why is RevocationKind.LOST
    (join,) = member.notify(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.owned) == (member_id, frozenset())


def test_a_heartbeat_of_an_earlier_generation_is_not_the_one_in_flight() -> None:
    """The answers of two generations may cross."""
    member = Member()
    member.take(parts(A0), generation=2)
    member.later(3_000)
    assert member.notify(ev.HeartbeatCompleted("me", 1, E.UNKNOWN_MEMBER_ID)) == []
    assert member.core.owned == parts(A0)


def test_a_pattern_takes_topics_that_only_the_leader_knew() -> None:
    """The leader's metadata may be younger than ours."""
    member = Member()
    join = member.subscribe()
    member.notify(ev.Subscribed(TOPICS, open_ended=True))
    sync = member.joined(join)
    new = TopicPartition("new", 0)
    member.notify(ev.SyncCompleted(sync.round, 0, parts(new)))
    member.poll()
    assert member.core.owned == parts(new)


def test_a_late_refusal_of_an_earlier_identity_changes_nothing() -> None:
    """The commit was sent in the generation before."""
    member = Member()
    member.take(parts(A0))
    assert member.notify(ev.CommitCompleted("me", 0, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    (fence,) = member.notify(ev.CommitCompleted("me", 1, E.ILLEGAL_GENERATION))
    assert isinstance(fence, ev.FenceMember)


def test_an_old_generation_is_no_news_while_joining_the_next() -> None:
    """The join is through, and a heartbeat of before it came in after it."""
    member = Member()
    member.take(parts(A0))
    beat = member.later(3_000)[-1]
    assert isinstance(beat, ev.SendHeartbeat)
    (join,) = member.notify(ev.RejoinTriggered(ev.JoinReason.ASKED))
    assert isinstance(join, ev.SendJoin)
    assert member.notify(ev.HeartbeatCompleted("me", 1, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    member.joined(join, 2)


def test_a_fenced_member_stays_out_until_it_unsubscribes() -> None:
    """Joining again would throw the other one out, and so on for ever."""
    member = Member(GroupSettings(strategies=("cooperative-sticky",), instance_id="one"))
    member.take(parts(A0))
    fence, raised = member.beat(E.FENCED_INSTANCE_ID)
    assert isinstance(fence, ev.FenceMember)
    assert isinstance(raised, ev.Raise)
    assert raised.final
    assert "group.instance.id" in raised.text
    (given,) = member.poll()
    assert isinstance(given, ev.RevokePartitions)
    assert member.notify(ev.CallbackDone(given.round)) == []
    assert member.poll() == []
    member.notify(ev.Leave())
    member.notify(ev.Subscribed(TOPICS))
    assert of_kind(member.poll(), ev.SendJoin)


def test_a_fatal_refusal_is_raised_and_the_next_poll_tries_again() -> None:
    """Not before: the caller decides."""
    member = Member()
    join = member.subscribe()
    refused = ev.JoinCompleted(round=join.round, code=E.GROUP_AUTHORIZATION_FAILED)
    (raised,) = member.notify(refused)
    assert isinstance(raised, ev.Raise)
    assert (raised.code, raised.final) == (30, False)
    assert member.later(10_000) == []
    (again,) = member.poll()
    assert isinstance(again, ev.SendJoin)


def test_a_coordinator_that_still_loads_is_asked_again_to_be_joined() -> None:
    """After a pause, and of the same one; to a member that is stable it is no news."""
    member = Member()
    join = member.subscribe()
    assert (
        member.notify(ev.JoinCompleted(round=join.round, code=E.COORDINATOR_LOAD_IN_PROGRESS)) == []
    )
    (again,) = member.later(10_000)
    assert isinstance(again, ev.SendJoin)
    sync = member.joined(again)
    assert member.notify(ev.SyncCompleted(sync.round, E.COORDINATOR_LOAD_IN_PROGRESS)) == []
    assert of_kind(member.later(10_000), ev.SendJoin)
    stable = Member()
    stable.take(parts(A0))
    assert stable.beat(E.COORDINATOR_LOAD_IN_PROGRESS) == []
    assert (stable.core.state, stable.core.owned) == (MembershipState.STABLE, parts(A0))


@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_for_and_nothing_is_lost(code: E) -> None:
    """A member that is stable goes on, and beats at once where the coordinator is now."""
    member = Member()
    member.take(parts(A0))
    forget, search = member.beat(code)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, parts(A0))
    member.notify(ev.CoordinatorUnknown(search.round, E.COORDINATOR_NOT_AVAILABLE))
    (search,) = member.later(100)
    assert isinstance(search, ev.FindCoordinator)
    assert member.notify(ev.CoordinatorLocated(search.round)) == [ev.SendHeartbeat("me", 1)]


def test_a_join_that_broke_is_sent_again_where_the_coordinator_is_now() -> None:
    """Under a new round: an answer to the old one is late."""
    member = Member()
    join = member.subscribe()
    (search,) = member.notify(ev.CoordinatorLost())
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorLocated(search.round))
    (again,) = member.later(100)
    assert isinstance(again, ev.SendJoin)
    assert again.round > join.round


def test_a_join_that_was_answered_too_late_leaves_no_ghost() -> None:
    """The coordinator has a member that nobody is: it would hold up the next rebalance."""
    member = Member()
    join = member.subscribe()
    member.notify(ev.Leave())
    late = ev.JoinCompleted(round=join.round, code=0, member_id="ghost", generation=1)
    assert member.notify(late) == [ev.SendLeave("ghost", "its join was given up")]


def test_silence_of_the_coordinator_makes_us_look_for_it() -> None:
    """A whole session without an answer."""
    member = Member()
    member.take(parts(A0))
    (beat,) = member.later(3_000)
    assert isinstance(beat, ev.SendHeartbeat)
    forget, search = member.later(42_000)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)


def test_a_rebalance_heard_of_before_the_share_is_there_is_no_news() -> None:
    """While completing, the answer may be about the rebalance that we are in."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.beat(E.REBALANCE_IN_PROGRESS) == []
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert member.notify(ev.CallbackDone(taken.round)) == []


def test_only_a_leader_joins_again_for_new_partitions() -> None:
    """The others' leader sees them as well."""
    member = Member()
    member.take(parts(A0))
    assert member.notify(ev.RejoinTriggered(ev.JoinReason.TOPICS)) == []
    assert of_kind(member.notify(ev.RejoinTriggered(ev.JoinReason.ASKED)), ev.SendJoin)


def test_a_leader_that_cannot_assign_says_why_and_joins_again() -> None:
    """The group must not wait for shares that nobody computes; the caller learns the reason."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(
        round=join.round,
        code=0,
        member_id="me",
        generation=1,
        protocol="cooperative-sticky",
        leader_id="me",
        members=(ev.JoinedMember("me", TOPICS),),
    )
    (assign,) = member.notify(response)
    assert isinstance(assign, ev.Assign)
    (raised,) = member.notify(ev.AssignmentFailed(assign.round, "no broker answers"))
    assert raised == ev.Raise(None, "the group's leader can't assign: no broker answers")
    assert member.core.state is MembershipState.PREPARING
    (again,) = member.later(10_000)
    assert isinstance(again, ev.SendJoin)
    assert again.cause is ev.JoinReason.FAILED


def test_a_protocol_that_is_not_ours_is_refused() -> None:
    """A broker would not choose it; taking part would mean two divisions."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(round=join.round, code=0, member_id="me", protocol="other")
    (raised,) = member.notify(response)
    assert isinstance(raised, ev.Raise)
    assert raised.code == E.INCONSISTENT_GROUP_PROTOCOL


def test_trust_ends_a_session_after_the_last_request_that_was_answered() -> None:
    """Counted from its sending, since the coordinator counts from its coming in."""
    member = Member()
    member.take(parts(A0))
    assert member.core.trusted_until_ms == 45_000
    member.later(3_000)
    assert member.core.trusted_until_ms == 45_000
    member.now_ms += 500
    member.notify(ev.HeartbeatCompleted("me", 1, 0))
    assert member.core.trusted_until_ms == 48_000


def test_trust_ends_with_the_time_that_a_rebalance_waits() -> None:
    """A late member is thrown out though it beats."""
    settings = GroupSettings(
        strategies=("range",), max_poll_interval_ms=10_000, session_timeout_ms=9_000
    )
    member = Member(settings)
    member.take(parts(A0))
    member.beat(0)
    member.beat(E.REBALANCE_IN_PROGRESS)
    member.beat(E.REBALANCE_IN_PROGRESS)
    assert member.core.trusted_until_ms == 3_000 + 10_000


def _unasked(member: Member) -> list[Callable[[], list[ev.Action]]]:
    return [
        lambda: member.notify(ev.CallbackDone(77)),
        lambda: member.notify(ev.AssignmentMade(77, {})),
        lambda: member.notify(ev.SyncCompleted(77, 0, parts(A0))),
        lambda: member.notify(ev.CoordinatorLocated(77)),
        lambda: member.notify(ev.HeartbeatCompleted("me", 1, 25)),
    ]


@pytest.mark.parametrize("which", range(5))
def test_answers_to_nothing_change_nothing(which: int) -> None:
    """They belong to rounds that are over."""
    member = Member()
    member.take(parts(A0))
    assert _unasked(member)[which]() == []
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, parts(A0))
