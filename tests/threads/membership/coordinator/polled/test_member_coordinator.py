"""A member whose coordinator is lost, hangs, or sends responses that can't be read."""

from dataclasses import replace

import pytest

from tests.support.coordinator_double import HERE, CoordinatorDouble
from tests.support.group_members import QUICK, poll_until, tps
from tests.support.waiting import wait_until
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import GroupFailed, RequestTimedOut
from zkconsumer.wire.messages.group_members import (
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest

ALL = tps("t", 0, 1, 2, 3)
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def test_a_lost_coordinator_costs_no_partition(broker: CoordinatorDouble, make: MakeMember) -> None:
    """Connections break, it is another broker for a while, then none: the member stays."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    wait_until(lambda: member.member.counts.heartbeats, what="a heartbeat")
    searched = broker.searches
    broker.break_connections()
    wait_until(lambda: broker.searches > searched, what="it looks for the coordinator")
    broker.refuse(HeartbeatRequest, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR)
    broker.refuses_connections = True
    broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.break_connections()
    searched = broker.searches
    wait_until(lambda: broker.searches > searched + 2, what="it asks again")
    broker.refuses_connections = False
    broker.found = HERE
    beats = member.member.counts.heartbeats
    wait_until(lambda: member.member.counts.heartbeats > beats + 2, what="heartbeats")
    assert member.handler.calls == [("taken", ALL)]


def test_a_useless_coordinator_is_not_hammered(broker: CoordinatorDouble, make: MakeMember) -> None:
    """If the named coordinator refuses connections, retries have growing pauses."""
    settings = replace(QUICK, retry_backoff_ms=50, retry_backoff_max_ms=200)
    member = make(broker, "t", settings=settings)
    member.poll_until("all", lambda: member.has == ALL)
    broker.refuses_connections = True
    broker.break_connections()
    started, dials = SystemClock().now_ms(), broker.dials
    wait_until(lambda: broker.dials >= dials + 6, what="several tries")
    assert SystemClock().now_ms() - started >= 500


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
def test_a_coordinator_may_be_killed_during_a_rebalance(
    broker: CoordinatorDouble, make: MakeMember, kind: type[object]
) -> None:
    """JoinGroup or SyncGroup gets no response, and then another broker has the group."""
    first = make(broker, "t", name="first")
    first.poll_until("all", lambda: first.has == ALL)
    broker.silent |= {kind}
    requested = _requested(broker, kind)
    first.member.rejoin()
    first.poll_until("it asks", lambda: _requested(broker, kind) > requested)
    broker.break_connections()
    with broker.lock:
        broker.group.move(broker.now_ms())
    broker.silent.clear()
    first.poll_until("all again", lambda: first.has == ALL and first.member.state == "stable")


def _requested(broker: CoordinatorDouble, kind: type[object]) -> int:
    return broker.attempts.get(kind, 0)


def test_the_leader_notices_new_partitions(broker: CoordinatorDouble, make: MakeMember) -> None:
    """It does even of a topic that it does not read itself."""
    leader = make(broker, "t", name="leader")
    leader.poll_until("all", lambda: leader.has == ALL)
    other = make(broker, "u", name="other")
    poll_until("both take part", lambda: other.handler.calls, leader, other)
    assert leader.group_topics[-1] == frozenset({"t", "u"})
    assert other.group_topics[-1] == frozenset()
    broker.partitions["u"] = (0, 1)
    leader.member.on_topics_changed(broker.view())
    poll_until("the new topic", lambda: other.has == tps("u", 0, 1), leader, other)
    broker.partitions["t"] = (0, 1, 2, 3, 4)
    leader.member.on_topics_changed(broker.view())
    poll_until("the new partition", lambda: len(leader.has) == 5, leader, other)


def test_unchanged_metadata_causes_no_rebalance(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The same metadata came again, or came without one of the topics."""
    leader = make(broker, "t")
    leader.poll_until("all", lambda: leader.has == ALL)
    leader.member.on_topics_changed(broker.view())
    del broker.partitions["t"]
    leader.member.on_topics_changed(broker.view())
    beats = leader.member.counts.heartbeats
    leader.poll_until("time passes", lambda: leader.member.counts.heartbeats > beats + 2)
    metrics = leader.member.numbers()
    assert (metrics["join-total"], metrics["commit-total"], metrics["lost-total"]) == (1, 0, 0)
    assert metrics["heartbeat-total"] > beats
    assert 0 <= metrics["last-heartbeat-seconds-ago"] < 30


def test_a_join_that_hangs_does_not_delay_the_next(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Another subscription joins while the first one's JoinGroup has no response."""
    member = make(broker, "t", request_timeout_ms=60_000)
    broker.silent |= {JoinGroupRequest}
    member.poll_until("it joins", lambda: _requested(broker, JoinGroupRequest))
    member.member.unsubscribe(1_000)
    broker.silent.clear()
    member.subscribe("t")
    member.poll_until("all", lambda: member.has == ALL, timeout_s=10)


def test_a_join_that_completes_after_unsubscribe_leaves_again(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Otherwise the group would wait for a member that no consumer acts for."""
    first = make(broker, "t", settings=replace(QUICK, session_timeout_ms=20_000), name="first")
    first.poll_until("all", lambda: first.has == ALL)
    second = make(broker, "t", name="second")
    broker.group.member_id_required = False
    second.poll_until("it joins", lambda: second.member.state == "preparing")
    wait_until(lambda: len(broker.group.members) == 2, what="it is a member")
    second.member.unsubscribe(1_000)
    first.poll_until("it is gone", lambda: len(broker.group.members) == 1 and first.has == ALL)


def test_a_leader_without_metadata_raises_and_retries(
    broker: CoordinatorDouble, make: MakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the brokers' reason; the group is assigned as soon as they respond."""

    def view(topics: object, *, timeout_ms: int) -> ClusterView:
        del topics, timeout_ms
        raise RequestTimedOut("broker:9092 is silent")

    with monkeypatch.context() as patch:
        patch.setattr(broker, "view", view)
        member = make(broker, "t")
        expected = r"group g: the group's leader can't assign: broker:9092 is silent"
        with pytest.raises(GroupFailed, match=expected):
            member.poll_until("never", lambda: False)
    member.poll_until("all", lambda: member.has == ALL)


def test_an_unreadable_assignment_is_raised(broker: CoordinatorDouble, make: MakeMember) -> None:
    """The leader sent garbage: every poll raises it, and none waits for ever."""
    broker.sends_garbage = True
    member = make(broker, "t")
    with pytest.raises(GroupFailed, match="Assignment"):
        member.poll_until("never", lambda: False)
    broker.sends_garbage = False
    member.poll_until("all", lambda: member.has == ALL)


def test_the_death_of_a_thread_is_raised_by_every_poll(
    broker: CoordinatorDouble, make: MakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No poll waits in vain, and unsubscribing does not hide it; close raises the bug."""

    def view(topics: object, *, timeout_ms: int) -> ClusterView:
        del topics, timeout_ms
        raise ZeroDivisionError

    monkeypatch.setattr(broker, "view", view)
    member = make(broker, "t")
    with pytest.raises(GroupFailed, match="broke down"):
        member.poll_until("never", lambda: False)
    member.member.unsubscribe(1_000)
    member.subscribe("t")
    with pytest.raises(GroupFailed, match="broke down"):
        member.member.poll()
    with pytest.raises(ZeroDivisionError):
        member.close()


# --- closing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest])
def test_close_is_prompt_when_the_coordinator_hangs(
    broker: CoordinatorDouble, make: MakeMember, kind: type[object]
) -> None:
    """It is for whichever request gets no response."""
    broker.silent |= {kind, LeaveGroupRequest}
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("it asks", lambda: _requested(broker, kind))
    started = SystemClock().now_ms()
    member.close(timeout_ms=300)
    assert SystemClock().now_ms() - started < 20_000
