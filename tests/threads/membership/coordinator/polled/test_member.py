"""A member joins, shares, gives up partitions and leaves, with a coordinator without a network."""

import threading
from dataclasses import replace

import pytest

from tests.support.coordinator_double import OF_0_8_2, OF_0_9, CoordinatorDouble
from tests.support.group_members import QUICK, MemberInTest, poll_until, tps
from tests.support.waiting import wait_until
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConfigError, GroupFailed
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.group_members import JoinGroupRequest, LeaveGroupRequest
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest

ALL = tps("t", 0, 1, 2, 3)
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def even(*members: MemberInTest) -> bool:
    """Return whether these members own all partitions evenly, each in one hand only."""
    shares = [member.has for member in members]
    return frozenset().union(*shares) == ALL and all(
        len(share) == len(ALL) // len(members) for share in shares
    )


@pytest.mark.parametrize("versions", [{}, OF_0_9], ids=["new", "0.9"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_members_share_and_the_one_that_stays_gets_all(
    make: MakeMember, versions: dict[int, int], strategy: str
) -> None:
    """Each partition has one owner; a leaving member says so, and its session is not awaited."""
    broker = CoordinatorDouble({"t": 4}, versions=versions)  # type: ignore[arg-type]
    settings = replace(QUICK, strategies=(strategy,))
    first = make(broker, "t", settings=settings, name="first")
    poll_until("the first has all", lambda: first.has == ALL, first)
    second = make(broker, "t", settings=settings, name="second")
    poll_until("both have half", lambda: even(first, second), first, second)
    first.close()
    assert broker.kinds(LeaveGroupRequest)
    second.poll_until("the second has all", lambda: second.has == ALL)
    assert first.handler.owned == frozenset()
    assert second.handler.threads == {threading.get_ident()}


def test_a_cooperative_member_keeps_what_stays(broker: CoordinatorDouble, make: MakeMember) -> None:
    """It gives up only what the other member gets, and reads the rest meanwhile."""
    settings = replace(QUICK, strategies=("cooperative-sticky",))
    first = make(broker, "t", settings=settings, name="first")
    first.poll_until("all", lambda: first.has == ALL)
    kept: list[frozenset[TopicPartition]] = []
    second = make(broker, "t", settings=settings, name="second")

    def shared() -> bool:
        kept.append(first.has)
        return even(first, second)

    poll_until("both have half", shared, first, second)
    assert all(len(partitions) >= 2 for partitions in kept)
    revoked = [partitions for what, partitions in first.handler.calls if what == "revoked"]
    assert len(revoked) == 1
    assert revoked[0] == second.has


def test_a_member_delivers_nothing_once_its_session_may_be_over(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Without a network others may own its partitions by now."""
    settings = replace(QUICK, session_timeout_ms=300)
    member = make(broker, "t", settings=settings, request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has == ALL)
    broker.refuses_connections = True
    broker.break_connections()
    wait_until(lambda: not member.has, what="nothing to hand out")
    assert member.member.counts.lost == 0
    broker.refuses_connections = False
    member.poll_until("all again", lambda: member.has == ALL)


def test_a_removed_member_gets_its_loss_and_joins_again(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The handler gets the loss before the new assignment, and no revocation."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    broker.remove_member(member.member.member_id)
    wait_until(lambda: not member.has, what="nothing to hand out, without a poll")
    member.poll_until("all again", lambda: member.has == ALL)
    assert member.handler.calls == [("taken", ALL), ("lost", ALL), ("taken", ALL)]


def test_a_caller_that_does_not_poll_leaves_and_joins_again(
    broker: CoordinatorDouble, make: MakeMember, caplog: pytest.LogCaptureFixture
) -> None:
    """max.poll.interval.ms: other members don't wait for one that is stuck. Both are logged."""
    member = make(broker, "t", settings=replace(QUICK, max_poll_interval_ms=200))
    member.poll_until("all", lambda: member.has == ALL)
    wait_until(lambda: broker.kinds(LeaveGroupRequest), what="it leaves")
    assert not member.has
    member.poll_until("all again", lambda: member.has == ALL)
    for once in ("no poll within max.poll.interval.ms=200", "polled again"):
        assert sum(once in message for message in caplog.messages) == 1
    assert ("lost", ALL) in member.handler.calls


def test_a_static_member_restarts_without_a_rebalance(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """KIP-345: it does not leave, and its partitions are kept for it."""
    long = replace(QUICK, session_timeout_ms=20_000)
    settings = replace(long, instance_id="i1")
    other = make(broker, "t", settings=replace(long, instance_id="i2"), name="other")
    other.poll_until("all", lambda: other.has == ALL)
    first = make(broker, "t", settings=settings, name="first")
    poll_until("both have half", lambda: even(first, other), first, other)
    had, generation, joins = first.has, broker.group.generation, other.member.counts.joined
    first.close()
    assert not broker.kinds(LeaveGroupRequest)
    again = make(broker, "t", settings=settings, name="again")
    again.poll_until("what it had", lambda: again.has == had)
    assert (broker.group.generation, other.member.counts.joined) == (generation, joins)


def test_the_older_of_two_members_with_one_instance_id_is_fenced(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Each of its polls raises that, and it does not take the id back."""
    settings = replace(QUICK, instance_id="i1")
    older = make(broker, "t", settings=settings, name="older")
    older.poll_until("all", lambda: older.has == ALL)
    newer = make(broker, "t", settings=settings, name="newer")
    newer.poll_until("all", lambda: newer.has == ALL)
    wait_until(lambda: not older.has, what="the older one is fenced")
    for _ in range(2):
        with pytest.raises(GroupFailed, match=r"group\.instance\.id") as caught:
            older.member.poll()
        assert caught.value.final
    assert newer.has == ALL


def test_a_final_refusal_ends_with_unsubscribe(broker: CoordinatorDouble, make: MakeMember) -> None:
    """After that a new subscription can join."""
    member = make(broker, "t", settings=replace(QUICK, instance_id="i1"))
    broker.refuse(JoinGroupRequest, ErrorCode.FENCED_INSTANCE_ID)
    with pytest.raises(GroupFailed):
        member.poll_until("never", lambda: False)
    member.member.unsubscribe(1_000)
    member.subscribe("t")
    member.poll_until("all", lambda: member.has == ALL)


def test_a_handler_that_fails_while_leaving_leaves_no_deadline_behind(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Commits and lookups after another subscription have time-outs of their own."""

    def fail(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        raise ValueError("the caller's")

    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    member.handler.on_give_up = fail
    with pytest.raises(ValueError, match="the caller's"):
        member.member.unsubscribe(0)
    member.handler.on_give_up = lambda _partitions, _why: None
    member.subscribe("t")
    member.poll_until("all again", lambda: member.has == ALL)
    tp = TopicPartition("t", 0)
    member.member.commit({tp: OffsetAndMetadata(7)}, timeout_ms=5_000)
    assert member.member.committed([tp], timeout_ms=5_000) == {tp: OffsetAndMetadata(7)}


def test_a_subscription_made_while_leaving_joins_again(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """If the handler subscribes while the member leaves, it joins again and commits as a member."""

    def subscribe(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        member.handler.on_give_up = lambda _partitions, _why: None
        member.subscribe("t")

    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    member.handler.on_give_up = subscribe
    member.member.unsubscribe(5_000)
    member.poll_until("all again", lambda: member.has == ALL)
    assert member.member.generation == broker.group.generation
    member.member.commit({TopicPartition("t", 0): OffsetAndMetadata(7)}, timeout_ms=5_000)
    assert broker.offsets == {TopicPartition("t", 0): OffsetAndMetadata(7)}


def test_an_interrupted_leave_is_sent_nevertheless(
    broker: CoordinatorDouble, make: MakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The member joins under a new id, and the group does not wait for the old one's session."""
    member = make(broker, "t", settings=replace(QUICK, session_timeout_ms=60_000))
    member.poll_until("all", lambda: member.has == ALL)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(member.member._events, "_flush", interrupt)
        with pytest.raises(KeyboardInterrupt):
            member.member.unsubscribe(5_000)
    assert broker.kinds(LeaveGroupRequest)
    member.subscribe("t")
    member.poll_until("all again", lambda: member.has == ALL)
    member.member.commit({TopicPartition("t", 0): OffsetAndMetadata(7)}, timeout_ms=5_000)


def test_an_interrupted_close_does_not_wait_for_commits(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """After Ctrl-C it waits neither for the handler's commit nor for those before it."""
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has == ALL)
    broker.silent |= {OffsetCommitRequest}
    offsets = {TopicPartition("t", 0): OffsetAndMetadata(7)}
    member.member.commit_async(offsets, None)

    def interrupt(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        raise KeyboardInterrupt

    member.handler.on_give_up = interrupt
    begun_ms = SystemClock().now_ms()
    with pytest.raises(KeyboardInterrupt):
        member.close(60_000)
    assert SystemClock().now_ms() - begun_ms < 20_000


def test_a_refusal_is_raised_once_and_the_next_poll_retries(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """An ACL may be corrected while the consumer polls."""
    broker.refuse(JoinGroupRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    member = make(broker, "t")
    with pytest.raises(GroupFailed, match="GROUP_AUTHORIZATION_FAILED") as caught:
        member.poll_until("never", lambda: False)
    assert caught.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    member.poll_until("all", lambda: member.has == ALL)


def test_a_broker_too_old_for_groups_is_an_error(make: MakeMember) -> None:
    """The error names ZooKeeper groups as the alternative."""
    member = make(CoordinatorDouble({"t": 1}, versions=OF_0_8_2), "t")
    with pytest.raises(GroupFailed, match="zookeeper_connect"):
        member.poll_until("never", lambda: False)


def test_a_broker_too_old_for_static_members_is_an_error(make: MakeMember) -> None:
    """The error names the request that the setting needs a newer version of."""
    member = make(
        CoordinatorDouble({"t": 1}, versions=OF_0_9), "t", settings=replace(QUICK, instance_id="i")
    )
    with pytest.raises(GroupFailed, match="JOIN_GROUP"):
        member.poll_until("never", lambda: False)


def test_a_coordinator_too_old_for_static_heartbeats_is_an_error(make: MakeMember) -> None:
    """It accepted the join, but a heartbeat without an instance id can't be fenced."""
    broker = CoordinatorDouble({"t": 1}, versions={ApiKey.HEARTBEAT: 2})
    member = make(broker, "t", settings=replace(QUICK, instance_id="i"))
    with pytest.raises(GroupFailed, match="it lacks HEARTBEAT 3") as caught:
        member.poll_until("never", lambda: False)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
    assert not broker.kinds(HeartbeatRequest)


def test_a_session_time_out_too_long_for_0_9_is_shortened(
    make: MakeMember, caplog: pytest.LogCaptureFixture
) -> None:
    """The default of later releases exceeds its maximum: that is used instead, and logged."""
    broker = CoordinatorDouble({"t": 4}, versions=OF_0_9, longest_session_ms=30_000)
    member = make(broker, "t", settings=replace(QUICK, session_timeout_ms=45_000))
    member.poll_until("all", lambda: member.has == ALL)
    assert "session.timeout.ms=45000" in caplog.text
    assert broker.kinds(JoinGroupRequest)[-1].session_timeout_ms == 30_000


def test_strategies_must_exist(broker: CoordinatorDouble, make: MakeMember) -> None:
    """An unknown one is refused before any thread is started."""
    for names in ((), ("range", "fastest")):
        with pytest.raises((ConfigError, KeyError)):
            make(broker, "t", settings=replace(QUICK, strategies=names))


# --- rebalances that go wrong ------------------------------------------------------------------


def test_an_error_of_the_handler_is_raised_and_the_group_goes_on(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A call of the handler that raised counts as done."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)

    def fail(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        raise ValueError("the listener's own")

    member.handler.on_give_up = fail
    member.member.rejoin()
    with pytest.raises(ValueError, match="own"):
        member.poll_until("never", lambda: False)
    member.poll_until("all again", lambda: member.has == ALL)
    with pytest.raises(ValueError, match="own"):
        member.close()


def test_a_changed_subscription_changes_the_partitions(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Those of a former topic are revoked, and those of a new one are taken over."""
    broker.partitions["u"] = (0,)
    member = make(broker, "t", settings=replace(QUICK, strategies=("cooperative-sticky",)))
    member.poll_until("all", lambda: member.has == ALL)
    member.subscribe("u")
    member.poll_until("the other topic", lambda: member.has == tps("u", 0))
    assert ("revoked", ALL) in member.handler.calls
    member.member.unsubscribe(1_000)
    assert member.handler.calls[-1] == ("revoked", tps("u", 0))
    assert member.has == frozenset()
    assert not broker.group.members
    assert (member.member.generation, member.member.state) == (-1, "unjoined")


def test_the_handler_can_commit_while_leaving(broker: CoordinatorDouble, make: MakeMember) -> None:
    """Its last commit comes before the LeaveGroup request."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)

    def commit(partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        offsets = {tp: OffsetAndMetadata(5) for tp in partitions}
        member.member.commit(offsets, timeout_ms=5_000)

    member.handler.on_give_up = commit
    member.close()
    assert broker.offsets == {tp: OffsetAndMetadata(5) for tp in ALL}
    kinds = [type(request) for request, _ in broker.requested]
    assert kinds[-1] is LeaveGroupRequest


# --- closing -----------------------------------------------------------------------------------


def test_close_without_time_calls_the_handler(broker: CoordinatorDouble, make: MakeMember) -> None:
    """It does even if LeaveGroup gets no response."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    broker.silent |= {LeaveGroupRequest}
    member.close(timeout_ms=0)
    assert member.handler.owned == frozenset()


def test_close_without_a_coordinator_is_quick(make: MakeMember) -> None:
    """There is nobody to send LeaveGroup to."""
    broker = CoordinatorDouble({"t": 1})
    broker.found = Broker(9, "nowhere", 1)
    broker.refuses_connections = True
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("a try", lambda: broker.dials > 0)
    started = SystemClock().now_ms()
    member.close(60_000)
    assert SystemClock().now_ms() - started < 20_000
