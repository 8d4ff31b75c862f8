"""How a member reacts to refusals, silence and late responses."""

from collections.abc import Callable

import pytest

from tests.support.lone_member import A0, TOPICS, Member, of_kind, parts
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition


@pytest.mark.parametrize(
    ("code", "member_id"), [(E.ILLEGAL_GENERATION, "me"), (E.UNKNOWN_MEMBER_ID, "")]
)
def test_a_refused_heartbeat_voids_the_partitions(code: E, member_id: str) -> None:
    """With an old generation it keeps its member id; as an unknown member it does not."""
    member = Member()
    member.take_assignment(parts(A0))
    (fence,) = member.respond_to_heartbeat(code)
    assert isinstance(fence, ev.FenceMember)
    assert member.core.owned == frozenset()
    (revoked,) = member.poll()
    assert isinstance(revoked, ev.RevokePartitions)
    assert revoked.why is RevocationKind.LOST
    (join,) = member.notify(ev.CallbackDone(revoked.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.owned) == (member_id, frozenset())


def test_the_response_to_a_heartbeat_of_an_earlier_generation_is_ignored() -> None:
    """The response belongs to the heartbeat of an earlier generation, and is ignored."""
    member = Member()
    member.take_assignment(parts(A0), generation=2)
    member.advance(3_000)
    assert member.notify(ev.HeartbeatCompleted("me", 1, E.UNKNOWN_MEMBER_ID)) == []
    assert member.core.owned == parts(A0)


def test_a_pattern_accepts_topics_that_only_the_leader_knew() -> None:
    """The leader's metadata may be newer than ours."""
    member = Member()
    join = member.subscribe()
    member.notify(ev.Subscribed(TOPICS, open_ended=True))
    sync = member.joined(join)
    new = TopicPartition("new", 0)
    member.notify(ev.SyncCompleted(sync.round, 0, parts(new)))
    member.poll()
    assert member.core.owned == parts(new)


def test_a_late_refusal_of_an_earlier_identity_changes_nothing() -> None:
    """The commit was sent in the previous generation."""
    member = Member()
    member.take_assignment(parts(A0))
    assert member.notify(ev.CommitCompleted("me", 0, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    (fence,) = member.notify(ev.CommitCompleted("me", 1, E.ILLEGAL_GENERATION))
    assert isinstance(fence, ev.FenceMember)


def test_an_illegal_generation_is_ignored_while_joining_the_next() -> None:
    """The join is in flight already when the response to an earlier heartbeat arrives."""
    member = Member()
    member.take_assignment(parts(A0))
    beat = member.advance(3_000)[-1]
    assert isinstance(beat, ev.SendHeartbeat)
    (join,) = member.notify(ev.RejoinTriggered(ev.JoinReason.REQUESTED))
    assert isinstance(join, ev.SendJoin)
    assert member.notify(ev.HeartbeatCompleted("me", 1, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    member.joined(join, 2)


def test_a_fenced_member_stays_out_until_it_unsubscribes() -> None:
    """Joining again would fence the other instance, which would join again, and so on for ever."""
    member = Member(GroupSettings(strategies=("cooperative-sticky",), instance_id="one"))
    member.take_assignment(parts(A0))
    fence, raised = member.respond_to_heartbeat(E.FENCED_INSTANCE_ID)
    assert isinstance(fence, ev.FenceMember)
    assert isinstance(raised, ev.Raise)
    assert raised.final
    assert "group.instance.id" in raised.text
    (revoked,) = member.poll()
    assert isinstance(revoked, ev.RevokePartitions)
    assert member.notify(ev.CallbackDone(revoked.round)) == []
    assert member.poll() == []
    member.notify(ev.Leave())
    member.notify(ev.Subscribed(TOPICS))
    assert of_kind(member.poll(), ev.SendJoin)


def test_a_fatal_refusal_is_raised_and_the_next_poll_tries_again() -> None:
    """It waits for the next poll, since the caller decides whether to go on."""
    member = Member()
    join = member.subscribe()
    refused = ev.JoinCompleted(round=join.round, code=E.GROUP_AUTHORIZATION_FAILED)
    (raised,) = member.notify(refused)
    assert isinstance(raised, ev.Raise)
    assert (raised.code, raised.final) == (30, False)
    assert member.advance(10_000) == []
    (again,) = member.poll()
    assert isinstance(again, ev.SendJoin)


def test_a_join_is_repeated_while_the_coordinator_loads() -> None:
    """It joins again after a pause, without a new lookup; a stable member ignores the error."""
    member = Member()
    join = member.subscribe()
    assert (
        member.notify(ev.JoinCompleted(round=join.round, code=E.COORDINATOR_LOAD_IN_PROGRESS)) == []
    )
    (again,) = member.advance(10_000)
    assert isinstance(again, ev.SendJoin)
    sync = member.joined(again)
    assert member.notify(ev.SyncCompleted(sync.round, E.COORDINATOR_LOAD_IN_PROGRESS)) == []
    assert of_kind(member.advance(10_000), ev.SendJoin)
    stable = Member()
    stable.take_assignment(parts(A0))
    assert stable.respond_to_heartbeat(E.COORDINATOR_LOAD_IN_PROGRESS) == []
    assert (stable.core.state, stable.core.owned) == (MembershipState.STABLE, parts(A0))


@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_for_and_nothing_is_lost(code: E) -> None:
    """A stable member keeps its partitions, and the new coordinator gets a heartbeat at once."""
    member = Member()
    member.take_assignment(parts(A0))
    forget, search = member.respond_to_heartbeat(code)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, parts(A0))
    member.notify(ev.CoordinatorUnknown(search.round, E.COORDINATOR_NOT_AVAILABLE))
    (search,) = member.advance(100)
    assert isinstance(search, ev.FindCoordinator)
    assert member.notify(ev.CoordinatorLocated(search.round)) == [ev.SendHeartbeat("me", 1)]


def test_a_join_that_broke_is_sent_again_where_the_coordinator_is_now() -> None:
    """It has a new round number, so that a response to the old request is recognized as late."""
    member = Member()
    join = member.subscribe()
    (search,) = member.notify(ev.CoordinatorLost())
    assert isinstance(search, ev.FindCoordinator)
    member.notify(ev.CoordinatorLocated(search.round))
    (again,) = member.advance(100)
    assert isinstance(again, ev.SendJoin)
    assert again.round > join.round


def test_a_join_that_succeeds_too_late_is_followed_by_leave_group() -> None:
    """The coordinator would keep a member without a process, which would delay a rebalance."""
    member = Member()
    join = member.subscribe()
    member.notify(ev.Leave())
    late = ev.JoinCompleted(round=join.round, code=0, member_id="ghost", generation=1)
    assert member.notify(late) == [ev.SendLeave("ghost", "its join was given up")]


def test_a_silent_coordinator_is_looked_for() -> None:
    """It is looked for after a session time-out without a response."""
    member = Member()
    member.take_assignment(parts(A0))
    (beat,) = member.advance(3_000)
    assert isinstance(beat, ev.SendHeartbeat)
    forget, search = member.advance(42_000)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)


def test_a_rebalance_reported_before_the_assignment_is_ignored() -> None:
    """Before SyncGroup's response, this may be the rebalance that the member takes part in."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS) == []
    assert member.notify(ev.SyncCompleted(sync.round, 0, parts(A0))) == []
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert member.notify(ev.CallbackDone(taken.round)) == []


def test_only_the_leader_joins_again_for_new_partitions() -> None:
    """Another leader sees the new partitions itself."""
    member = Member()
    member.take_assignment(parts(A0))
    assert member.notify(ev.RejoinTriggered(ev.JoinReason.TOPICS)) == []
    assert of_kind(member.notify(ev.RejoinTriggered(ev.JoinReason.REQUESTED)), ev.SendJoin)


def test_a_leader_that_cannot_assign_raises_and_joins_again() -> None:
    """Members must not wait for assignments that nobody computes; the caller gets the reason."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(
        round=join.round,
        code=0,
        member_id="me",
        generation=1,
        protocol="cooperative-sticky",
        leader_id="me",
        members={"me": MemberView(topics=TOPICS)},
    )
    (assign,) = member.notify(response)
    assert isinstance(assign, ev.Assign)
    (raised,) = member.notify(ev.AssignmentFailed(assign.round, "no broker answers"))
    assert raised == ev.Raise(None, "the group's leader can't assign: no broker answers")
    assert member.core.state is MembershipState.PREPARING
    (again,) = member.advance(10_000)
    assert isinstance(again, ev.SendJoin)
    assert again.cause is ev.JoinReason.FAILED


def test_a_strategy_that_was_not_offered_is_refused() -> None:
    """A broker would not choose it; members would compute conflicting assignments."""
    member = Member()
    join = member.subscribe()
    response = ev.JoinCompleted(round=join.round, code=0, member_id="me", protocol="other")
    (raised,) = member.notify(response)
    assert isinstance(raised, ev.Raise)
    assert raised.code == E.INCONSISTENT_GROUP_PROTOCOL


def test_trust_ends_a_session_timeout_after_the_last_successful_request() -> None:
    """It counts from when the request was sent, since the coordinator counts from its arrival."""
    member = Member()
    member.take_assignment(parts(A0))
    assert member.core.trusted_until_ms == 45_000
    member.advance(3_000)
    assert member.core.trusted_until_ms == 45_000
    member.now_ms += 500
    member.notify(ev.HeartbeatCompleted("me", 1, 0))
    assert member.core.trusted_until_ms == 48_000


def test_trust_ends_with_the_rebalance_timeout() -> None:
    """A member that joins too late is removed, in spite of its heartbeats."""
    settings = GroupSettings(
        strategies=("range",), max_poll_interval_ms=10_000, session_timeout_ms=9_000
    )
    member = Member(settings)
    member.take_assignment(parts(A0))
    member.respond_to_heartbeat(0)
    member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS)
    member.respond_to_heartbeat(E.REBALANCE_IN_PROGRESS)
    assert member.core.trusted_until_ms == 3_000 + 10_000


def _late_responses(member: Member) -> list[Callable[[], list[ev.Action]]]:
    return [
        lambda: member.notify(ev.CallbackDone(77)),
        lambda: member.notify(ev.AssignmentMade(77, {})),
        lambda: member.notify(ev.SyncCompleted(77, 0, parts(A0))),
        lambda: member.notify(ev.CoordinatorLocated(77)),
        lambda: member.notify(ev.HeartbeatCompleted("me", 1, 25)),
    ]


@pytest.mark.parametrize("which", range(5))
def test_responses_of_earlier_rounds_are_ignored(which: int) -> None:
    """They belong to earlier rounds."""
    member = Member()
    member.take_assignment(parts(A0))
    assert _late_responses(member)[which]() == []
    assert (member.core.state, member.core.owned) == (MembershipState.STABLE, parts(A0))
