"""A member's life: it joins, shares partitions, revokes, leaves; without a network."""

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
from zkconsumer.wire.messages.group_members import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
)
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest

ALL = tps("t", 0, 1, 2, 3)
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def even(*members: MemberInTest) -> bool:
    """Whether these members share the topic's partitions evenly, each partition with one member."""
    shares = [member.has for member in members]
    return frozenset().union(*shares) == ALL and all(
        len(share) == len(ALL) // len(members) for share in shares
    )


@pytest.mark.parametrize("versions", [{}, OF_0_9], ids=["new", "0.9"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_members_share_and_the_one_that_stays_gets_all(
    make: MakeMember, versions: dict[int, int], strategy: str
) -> None:
    """Each partition has one owner; a closed member leaves, so nobody waits for its session."""
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
    """It revokes only the partitions that move, and keeps reading the others meanwhile."""
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
    revoked = [partitions for what, partitions in first.handler.notes if what == "revoked"]
    assert len(revoked) == 1
    assert revoked[0] == second.has


def test_a_member_has_no_partitions_once_its_session_may_have_expired(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Without a network others may own the partitions, so nothing is delivered."""
    settings = replace(QUICK, session_timeout_ms=300)
    member = make(broker, "t", settings=settings, request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has == ALL)
    broker.deaf = True
    broker.break_lines()
    wait_until(lambda: not member.has, what="nothing to hand out")
    assert member.member.counts.lost == 0
    broker.deaf = False
    member.poll_until("all again", lambda: member.has == ALL)


def test_a_removed_member_is_notified_of_its_loss_and_rejoins(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The loss is reported before the new assignment, and nothing is revoked on top of it."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    broker.throw_out(member.member.member_id)
    wait_until(lambda: not member.has, what="nothing to hand out, without a poll")
    member.poll_until("all again", lambda: member.has == ALL)
    assert member.handler.notes == [("taken", ALL), ("lost", ALL), ("taken", ALL)]


def test_a_caller_that_stops_polling_leaves_the_group_and_rejoins(
    broker: CoordinatorDouble, make: MakeMember, caplog: pytest.LogCaptureFixture
) -> None:
    """After max.poll.interval.ms the others get its partitions; leaving and return are logged."""
    member = make(broker, "t", settings=replace(QUICK, max_poll_interval_ms=200))
    member.poll_until("all", lambda: member.has == ALL)
    wait_until(lambda: broker.kinds(LeaveGroupRequest), what="it leaves")
    assert not member.has
    assert "no poll within max.poll.interval.ms=200" in caplog.text
    member.poll_until("all again", lambda: member.has == ALL)
    assert "polled again" in caplog.text
    assert ("lost", ALL) in member.handler.notes
    assert member.member.counts.notices == 2


def test_a_static_member_comes_back_without_a_rebalance(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A static member (KIP-345) does not leave at close, and its partitions wait for it."""
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


def test_two_members_with_the_same_instance_id(broker: CoordinatorDouble, make: MakeMember) -> None:
    """The older member is fenced: every poll raises that, and it does not join again."""
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


def test_a_final_refusal_is_over_after_unsubscribe(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """After unsubscribe() a new subscription may join again."""
    member = make(broker, "t", settings=replace(QUICK, instance_id="i1"))
    broker.refuse(JoinGroupRequest, ErrorCode.FENCED_INSTANCE_ID)
    with pytest.raises(GroupFailed):
        member.poll_until("never", lambda: False)
    member.member.unsubscribe(1_000)
    member.subscribe("t")
    member.poll_until("all", lambda: member.has == ALL)


def test_the_deadline_of_an_unsubscribe_ends_with_it(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Even if the handler raises, later commits and lookups have their own timeouts."""

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
    one = TopicPartition("t", 0)
    member.member.commit({one: OffsetAndMetadata(7)}, timeout_ms=5_000)
    assert member.member.committed([one], timeout_ms=5_000) == {one: OffsetAndMetadata(7)}


def test_a_subscription_made_while_the_member_leaves_is_joined(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The handler subscribes during unsubscribe(): the member joins, and commits as a member."""

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


def test_an_interrupted_unsubscribe_leaves_the_group(
    broker: CoordinatorDouble, make: MakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next join has a new member id; the group does not wait for the old session to end."""
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


def test_an_interrupted_close_does_not_wait_for_hanging_commits(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """After Ctrl-C in the last commit neither it nor earlier commits are waited for."""
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


def test_a_refusal_is_raised_once_and_the_next_poll_tries_again(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """An ACL may be fixed while the consumer polls."""
    broker.refuse(JoinGroupRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    member = make(broker, "t")
    with pytest.raises(GroupFailed, match="GROUP_AUTHORIZATION_FAILED") as caught:
        member.poll_until("never", lambda: False)
    assert caught.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    member.poll_until("all", lambda: member.has == ALL)


def test_a_broker_too_old_for_groups(make: MakeMember) -> None:
    """The error names the alternative, groups in ZooKeeper."""
    member = make(CoordinatorDouble({"t": 1}, versions=OF_0_8_2), "t")
    with pytest.raises(GroupFailed, match="zookeeper_connect"):
        member.poll_until("never", lambda: False)


def test_a_broker_too_old_for_static_members(make: MakeMember) -> None:
    """The error names the request that the broker lacks."""
    member = make(
        CoordinatorDouble({"t": 1}, versions=OF_0_9), "t", settings=replace(QUICK, instance_id="i")
    )
    with pytest.raises(GroupFailed, match="JOIN_GROUP"):
        member.poll_until("never", lambda: False)


def test_a_coordinator_too_old_for_heartbeats_of_static_members(make: MakeMember) -> None:
    """A heartbeat without the instance id would not be fenced, so none is sent."""
    broker = CoordinatorDouble({"t": 1}, versions={ApiKey.HEARTBEAT: 2})
    member = make(broker, "t", settings=replace(QUICK, instance_id="i"))
    with pytest.raises(GroupFailed, match="it lacks HEARTBEAT 3") as caught:
        member.poll_until("never", lambda: False)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
    assert not broker.kinds(HeartbeatRequest)


def test_a_broker_of_0_9_refuses_a_session_of_45_s(
    make: MakeMember, caplog: pytest.LogCaptureFixture
) -> None:
    """The later default is too long for it: the member joins with its maximum, and logs that."""
    broker = CoordinatorDouble({"t": 4}, versions=OF_0_9, longest_session_ms=30_000)
    member = make(broker, "t", settings=replace(QUICK, session_timeout_ms=45_000))
    member.poll_until("all", lambda: member.has == ALL)
    assert "session.timeout.ms=45000" in caplog.text
    assert broker.kinds(JoinGroupRequest)[-1].session_timeout_ms == 30_000


def test_strategies_must_exist(broker: CoordinatorDouble, make: MakeMember) -> None:
    """An empty list or an unknown strategy is refused before anything is started."""
    for names in ((), ("range", "fastest")):
        with pytest.raises((ConfigError, KeyError)):
            make(broker, "t", settings=replace(QUICK, strategies=names))


# --- rebalances that go wrong ------------------------------------------------------------------


def test_an_error_of_the_handler_is_raised_and_the_member_stays(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A handler's call that raised counts as made."""
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


def test_a_change_of_subscription(broker: CoordinatorDouble, make: MakeMember) -> None:
    """Partitions of the old topic are revoked, those of the new one are assigned."""
    broker.partitions["u"] = (0,)
    member = make(broker, "t", settings=replace(QUICK, strategies=("cooperative-sticky",)))
    member.poll_until("all", lambda: member.has == ALL)
    member.subscribe("u")
    member.poll_until("the other topic", lambda: member.has == tps("u", 0))
    assert ("revoked", ALL) in member.handler.notes
    member.member.unsubscribe(1_000)
    assert member.handler.notes[-1] == ("revoked", tps("u", 0))
    assert member.has == frozenset()
    assert not broker.group.members
    assert (member.member.generation, member.member.state) == (-1, "unjoined")


def test_the_handler_may_commit_while_the_member_closes(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Its last commit is sent before the LeaveGroup request."""
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


def test_close_without_time(broker: CoordinatorDouble, make: MakeMember) -> None:
    """The handler is called even with a timeout of 0."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    broker.silent |= {LeaveGroupRequest}
    member.close(timeout_ms=0)
    assert member.handler.owned == frozenset()


def test_close_without_a_reachable_coordinator(make: MakeMember) -> None:
    """A close does not wait for a coordinator that cannot be found."""
    broker = CoordinatorDouble({"t": 1})
    broker.found = Broker(9, "nowhere", 1)
    broker.deaf = True
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("a try", lambda: broker.dials > 0)
    started = SystemClock().now_ms()
    member.close(60_000)
    assert SystemClock().now_ms() - started < 20_000
