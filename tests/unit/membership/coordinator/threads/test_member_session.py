"""The state that a member's threads share: wakeups, errors for polls, recovery from interrupts."""

import pytest

from tests.support.quiet_session import QuietSession
from zkconsumer.errors import ConsumerClosed, GroupFailed, ZkConsumerError
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = frozenset((T0, T1))


@pytest.fixture
def quiet() -> QuietSession:
    """A session without a subscription."""
    return QuietSession()


def test_the_caller_is_woken_by_responses_and_not_by_timers(quiet: QuietSession) -> None:
    """A heartbeat every few seconds must not end a poll that waits for records."""
    quiet.join(BOTH)
    quiet.take_over()
    wakes = quiet.wakes
    quiet.clock.advance(300)
    quiet.session.notify(ev.TimerExpired())
    assert (quiet.orders(), quiet.wakes) == ([ev.SendHeartbeat("me", 1)], wakes)
    quiet.session.notify(ev.HeartbeatCompleted("me", 1, 0))
    assert quiet.wakes == wakes + 1


def test_owned_partitions_are_delivered_until_the_session_may_have_expired(
    quiet: QuietSession,
) -> None:
    """The time counts from the last successful request, without any poll or thread in between."""
    quiet.join(BOTH)
    quiet.take_over()
    assert quiet.session.deliverable() == BOTH
    quiet.clock.advance(999)
    assert quiet.session.deliverable() == BOTH
    quiet.clock.advance(1)
    assert quiet.session.deliverable() == frozenset()


def test_polls_in_quick_succession_are_reported_once(
    quiet: QuietSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll is reported again after another event, or after ten milliseconds."""
    quiet.join(BOTH)
    quiet.take_over()
    quiet.poll()
    reported: list[ev.Event] = []
    receive = quiet.session._core.receive

    def recording(event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        reported.append(event)
        return receive(event, now_ms)

    monkeypatch.setattr(quiet.session._core, "receive", recording)
    quiet.clock.advance(9)
    quiet.poll()
    assert reported == []
    quiet.clock.advance(1)
    quiet.poll()
    assert reported == [ev.Polled()]
    quiet.session.notify(ev.TimerExpired())
    quiet.poll()
    assert reported == [ev.Polled(), ev.TimerExpired(), ev.Polled()]


def test_the_first_failure_is_raised_by_the_next_poll_only(quiet: QuietSession) -> None:
    """Both failures wake the caller, which may be waiting for records."""
    first, second = ConsumerClosed("first"), ConsumerClosed("second")
    quiet.caller.fail(first)
    quiet.caller.fail(second)
    assert quiet.wakes == 2
    assert (quiet.caller.take_failure(), quiet.caller.take_failure()) == (first, None)


def test_a_final_failure_is_raised_by_every_poll(quiet: QuietSession) -> None:
    """It is raised until the caller unsubscribes."""
    final: ZkConsumerError = GroupFailed("g", "fenced", final=True)
    quiet.caller.fail(final)
    assert (quiet.caller.take_failure(), quiet.caller.take_failure()) == (final, final)
    quiet.events.leave_group()
    assert quiet.caller.take_failure() is None


def test_a_refusal_is_raised_with_its_cause(quiet: QuietSession) -> None:
    """The message is that of the cause, which is more specific; it applies to this event only."""
    quiet.join(BOTH)
    cause = ConsumerClosed("the broker lacks HEARTBEAT 3")
    refused = ev.HeartbeatCompleted("me", 1, 30)
    quiet.clock.advance(300)
    quiet.session.notify(ev.TimerExpired())
    quiet.session.notify(refused, cause=cause)
    failure = quiet.caller.take_failure()
    assert isinstance(failure, GroupFailed)
    assert (failure.code, failure.__cause__) == (30, cause)
    assert str(failure) == "group g: the broker lacks HEARTBEAT 3"


def test_a_lost_connection_is_handled_once(quiet: QuietSession) -> None:
    """Only the first thread's report counts; then the coordinator is looked up."""
    quiet.join(BOTH)
    quiet.take_over()
    address = quiet.session.location.address
    assert address is not None
    quiet.orders()
    quiet.session.on_connection_lost(address, "it broke")
    quiet.session.on_connection_lost(address, "it broke")
    (search,) = quiet.orders()
    assert isinstance(search, ev.FindCoordinator)
    assert quiet.session.location.address is None
    assert quiet.session.deliverable() == BOTH


def test_an_interrupted_report_makes_the_member_rejoin_as_new(
    quiet: QuietSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then nothing is delivered, and the handler's partitions count as lost."""
    quiet.join(BOTH)
    quiet.take_over()
    receive = quiet.session._core.receive

    def interrupted(event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        receive(event, now_ms)
        raise KeyboardInterrupt

    quiet.clock.advance(10)
    with monkeypatch.context() as patch:
        patch.setattr(quiet.session._core, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            quiet.poll()
    assert quiet.session.deliverable() == frozenset()
    assert quiet.session.deadline_ms() is None
    quiet.poll()
    (lost,) = quiet.due
    assert isinstance(lost, ev.RevokePartitions)
    assert (lost.partitions, lost.why) == (BOTH, RevocationKind.LOST)
    assert any(isinstance(order, ev.SendLeave) for order in quiet.orders())
    (join,) = quiet.steps()
    assert isinstance(join, ev.SendJoin)
    assert join.member_id == ""
