"""The reasons that a member gives: in the log, to the coordinator, and to the caller."""

import pytest

from tests.support.lone_member import A0, TOPICS, Member, eager, of_kind, parts
from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.error_table import MembershipRequest, explain
from zkconsumer.membership.coordinator.core.states import GroupSettings, MembershipState
from zkconsumer.model import TopicPartition


@pytest.mark.parametrize("code", [E.ILLEGAL_GENERATION, E.UNKNOWN_MEMBER_ID])
def test_the_fencing_of_a_removed_member_names_the_request(code: E) -> None:
    """The reason names the request that was refused: a heartbeat or a commit."""
    member = Member()
    member.take_assignment(parts(A0))
    assert member.respond_to_heartbeat(code) == [
        ev.FenceMember(explain(MembershipRequest.HEARTBEAT, code))
    ]
    other = Member()
    other.take_assignment(parts(A0))
    refused = ev.CommitCompleted("me", 1, code)
    assert other.notify(refused) == [ev.FenceMember(explain(MembershipRequest.COMMIT, code))]


def test_the_reasons_of_a_fatal_refusal_name_the_request() -> None:
    """The reason is in the loss of the partitions, and in the error of the poll."""
    member = Member()
    member.take_assignment(parts(A0))
    code = E.GROUP_AUTHORIZATION_FAILED
    reason = explain(MembershipRequest.HEARTBEAT, code)
    assert member.respond_to_heartbeat(code) == [ev.FenceMember(reason), ev.Raise(code, reason)]


def test_forgetting_a_coordinator_has_the_reason() -> None:
    """Or because it was silent; if the connection broke, no action is needed."""
    member = Member()
    member.take_assignment(parts(A0))
    forget = member.respond_to_heartbeat(E.NOT_COORDINATOR)[0]
    assert forget == ev.ForgetCoordinator(explain(MembershipRequest.HEARTBEAT, E.NOT_COORDINATOR))
    silent = Member()
    silent.take_assignment(parts(A0))
    silent.advance(3_000)
    forget = silent.advance(42_000)[0]
    assert forget == ev.ForgetCoordinator(
        "session timed out without receiving a heartbeat response"
    )
    broken = Member()
    broken.take_assignment(parts(A0))
    assert of_kind(broken.notify(ev.CoordinatorLost()), ev.ForgetCoordinator) == []


def test_the_notice_of_a_missed_poll_names_the_setting() -> None:
    """The notice names the setting and its value; a second one says that it joins again."""
    member = eager()
    member.take_assignment(parts(A0))
    notice, leave, fence = member.advance(300_000)
    assert notice == ev.Notice(
        "no poll within max.poll.interval.ms=300000: leaving the group "
        "(raise it, or lower max.poll.records)"
    )
    assert leave == ev.SendLeave("me", "consumer poll timeout has expired.")
    assert fence == ev.FenceMember("the consumer stopped polling")
    assert member.poll()[0] == ev.Notice(
        "polled again after leaving the group for lack of polls: rejoining"
    )
    assert of_kind(member.poll(), ev.Notice) == []


def test_a_static_member_that_leaves_for_a_wrong_assignment_gives_the_reason() -> None:
    """The reason is sent to the coordinator, which logs it."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    foreign = frozenset({TopicPartition("another", 0)})
    sync = member.joined(member.subscribe())
    member.notify(ev.SyncCompleted(sync.round, 0, foreign))
    (join,) = of_kind(member.advance(10_000), ev.SendJoin)
    assert isinstance(join, ev.SendJoin)
    sync = member.joined(join)
    reason = "received assignment does not match the current subscription"
    assert member.notify(ev.SyncCompleted(sync.round, 0, foreign)) == [ev.SendLeave("me", reason)]


def test_an_unauthorized_coordinator_lookup_is_raised() -> None:
    """The error has the code; the next lookup waits for the next poll."""
    member = Member()
    member.notify(ev.Subscribed(TOPICS))
    (search,) = member.poll()
    assert isinstance(search, ev.FindCoordinator)
    code = E.GROUP_AUTHORIZATION_FAILED
    refused = ev.CoordinatorUnknown(search.round, code)
    assert member.notify(refused) == [ev.Raise(code, explain(MembershipRequest.FIND, code))]
    assert member.advance(10_000) == []
    assert of_kind(member.poll(), ev.FindCoordinator)


def test_a_group_with_another_protocol_is_refused() -> None:
    """SyncGroup may reveal it when JoinGroup did not (KIP-559)."""
    member = Member()
    sync = member.joined(member.subscribe())
    code = E.INCONSISTENT_GROUP_PROTOCOL
    actions = member.notify(ev.SyncCompleted(sync.round, 0, parts(A0), "range"))
    assert actions == [ev.Raise(code, explain(MembershipRequest.SYNC, code))]
    assert member.core.state is MembershipState.UNJOINED


def test_a_rebalance_reported_by_a_commit_is_joined() -> None:
    """It joins only if it is stable: otherwise it takes part in the rebalance already."""
    member = Member()
    member.take_assignment(parts(A0))
    (join,) = member.notify(ev.CommitCompleted("me", 1, E.REBALANCE_IN_PROGRESS))
    assert isinstance(join, ev.SendJoin)
    assert join.cause is ev.JoinReason.GROUP_REBALANCES
    assert member.notify(ev.CommitCompleted("me", 1, E.REBALANCE_IN_PROGRESS)) == []


def test_a_rebalance_reported_by_sync_group_is_joined_at_once() -> None:
    """This refusal of SyncGroup is no failure, so there is no pause."""
    member = Member()
    sync = member.joined(member.subscribe())
    (join,) = member.notify(ev.SyncCompleted(sync.round, E.REBALANCE_IN_PROGRESS))
    assert isinstance(join, ev.SendJoin)
    assert (join.cause, join.member_id) == (ev.JoinReason.GROUP_REBALANCES, "me")


def test_a_member_that_leaves_before_it_has_joined_sends_no_leave_group() -> None:
    """The coordinator does not know this member; the response in flight is ignored."""
    member = Member()
    join = member.subscribe()
    assert member.notify(ev.Leave()) == []
    assert member.notify(ev.JoinCompleted(round=join.round, code=E.MEMBER_ID_REQUIRED)) == []
    member.notify(ev.Subscribed(TOPICS))
    (again,) = member.poll()
    assert isinstance(again, ev.SendJoin)
    assert (again.member_id, again.cause) == ("", ev.JoinReason.JOINED)
