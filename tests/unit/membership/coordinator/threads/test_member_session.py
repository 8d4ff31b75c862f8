"""The state that a member's threads share: wakeups, errors for polls, recovery from interrupts."""

import pytest

from tests.support.threadless_session import ThreadlessSession
from zkconsumer.errors import ConsumerClosed, GroupFailed, ZkConsumerError
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = frozenset((T0, T1))


@pytest.fixture
def threadless() -> ThreadlessSession:
    """A session without a subscription."""
    return ThreadlessSession()


def test_the_caller_is_woken_by_responses_and_not_by_timers(threadless: ThreadlessSession) -> None:
    """A heartbeat every few seconds must not end a poll that waits for records."""
    threadless.join(BOTH)
    threadless.take_over()
    wakes = threadless.wakes
    threadless.clock.advance(300)
    threadless.session.notify(ev.TimerExpired())
    assert (threadless.orders(), threadless.wakes) == ([ev.SendHeartbeat("me", 1)], wakes)
    threadless.session.notify(ev.HeartbeatCompleted("me", 1, 0))
    assert threadless.wakes == wakes + 1


def test_owned_partitions_are_delivered_until_the_session_may_have_expired(
    threadless: ThreadlessSession,
) -> None:
    """The time counts from the last successful request, without any poll or thread in between."""
    threadless.join(BOTH)
    threadless.take_over()
    assert threadless.session.deliverable() == BOTH
    threadless.clock.advance(999)
    assert threadless.session.deliverable() == BOTH
    threadless.clock.advance(1)
    assert threadless.session.deliverable() == frozenset()


def test_polls_in_quick_succession_are_reported_once(
    threadless: ThreadlessSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll is reported again after another event, or after ten milliseconds."""
    threadless.join(BOTH)
    threadless.take_over()
    threadless.poll()
    reported: list[ev.Event] = []
    receive = threadless.session._core.receive

    def recording(event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        reported.append(event)
        return receive(event, now_ms)

    monkeypatch.setattr(threadless.session._core, "receive", recording)
    threadless.clock.advance(9)
    threadless.poll()
    assert reported == []
    threadless.clock.advance(1)
    threadless.poll()
    assert reported == [ev.Polled()]
    threadless.session.notify(ev.TimerExpired())
    threadless.poll()
    assert reported == [ev.Polled(), ev.TimerExpired(), ev.Polled()]


def test_the_first_failure_is_raised_by_the_next_poll_only(threadless: ThreadlessSession) -> None:
    """Both failures wake the caller, which may be waiting for records."""
    first, second = ConsumerClosed("first"), ConsumerClosed("second")
    threadless.caller.fail(first)
    threadless.caller.fail(second)
    assert threadless.wakes == 2
    assert (threadless.caller.take_failure(), threadless.caller.take_failure()) == (first, None)


def test_a_final_failure_is_raised_by_every_poll(threadless: ThreadlessSession) -> None:
    """It is raised until the caller unsubscribes."""
    final: ZkConsumerError = GroupFailed("g", "fenced", final=True)
    threadless.caller.fail(final)
    assert (threadless.caller.take_failure(), threadless.caller.take_failure()) == (final, final)
    threadless.events.leave_group()
    assert threadless.caller.take_failure() is None


def test_a_refusal_is_raised_with_its_cause(threadless: ThreadlessSession) -> None:
    """The message is that of the cause, which is more specific; it applies to this event only."""
    threadless.join(BOTH)
    cause = ConsumerClosed("the broker lacks HEARTBEAT 3")
    refused = ev.HeartbeatCompleted("me", 1, 30)
    threadless.clock.advance(300)
    threadless.session.notify(ev.TimerExpired())
    threadless.session.notify(refused, cause=cause)
    failure = threadless.caller.take_failure()
    assert isinstance(failure, GroupFailed)
    assert (failure.code, failure.__cause__) == (30, cause)
    assert str(failure) == "group g: the broker lacks HEARTBEAT 3"


def test_a_lost_connection_is_handled_once(threadless: ThreadlessSession) -> None:
    """Only the first thread's report counts; then the coordinator is looked up."""
    threadless.join(BOTH)
    threadless.take_over()
    address = threadless.session.location.address
    assert address is not None
    threadless.orders()
    threadless.session.on_connection_lost(address, "it broke")
    threadless.session.on_connection_lost(address, "it broke")
    (search,) = threadless.orders()
    assert isinstance(search, ev.FindCoordinator)
    assert threadless.session.location.address is None
    assert threadless.session.deliverable() == BOTH


def test_an_interrupted_report_makes_the_member_rejoin_as_new(
    threadless: ThreadlessSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then nothing is delivered, and the handler's partitions count as lost."""
    threadless.join(BOTH)
    threadless.take_over()
    receive = threadless.session._core.receive

    def interrupted(event: ev.Event, now_ms: int) -> tuple[ev.Action, ...]:
        receive(event, now_ms)
        raise KeyboardInterrupt

    threadless.clock.advance(10)
    with monkeypatch.context() as patch:
        patch.setattr(threadless.session._core, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            threadless.poll()
    assert threadless.session.deliverable() == frozenset()
    assert threadless.session.deadline_ms() is None
    threadless.poll()
    (lost,) = threadless.due
    assert isinstance(lost, ev.RevokePartitions)
    assert (lost.partitions, lost.why) == (BOTH, RevocationKind.LOST)
    assert any(isinstance(order, ev.SendLeave) for order in threadless.orders())
    (join,) = threadless.steps()
    assert isinstance(join, ev.SendJoin)
    assert join.member_id == ""
