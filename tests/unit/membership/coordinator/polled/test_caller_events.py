"""A handler's calls: each once, in order, with commits flushed while they still count."""

import logging

import pytest

from tests.support.threadless_session import ThreadlessSession
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = frozenset((T0, T1))


class HandlerRun:
    """A member's handler, and the caller that runs its calls.

    Attributes:
        flushed: the number of the handler's calls at each flush.
    """

    def __init__(self) -> None:
        self.flushed: list[int] = []
        self.threadless = ThreadlessSession(flush=self._flush)
        self.session = self.threadless.session
        self.handler = self.threadless.handler
        self.events = self.threadless.events

    def _flush(self) -> None:
        self.flushed.append(len(self.handler.calls))

    def joined(self) -> "HandlerRun":
        """Take over a first assignment."""
        self.threadless.join(BOTH)
        self.events.run()
        return self

    def lose(self) -> None:
        """Let the coordinator respond that it no longer knows this member."""
        self.threadless.clock.advance(300)
        self.session.notify(ev.TimerExpired())
        self.session.notify(ev.HeartbeatCompleted("me", 1, 25))
        self.threadless.poll()


@pytest.fixture
def run() -> HandlerRun:
    """A member with two partitions."""
    return HandlerRun().joined()


def fail(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
    """Raise, as a listener may."""
    raise ValueError("the caller's")


def rejoin(run: HandlerRun) -> None:
    """Trigger a rebalance, before which an eager member revokes everything."""
    run.session.notify(ev.RejoinTriggered(ev.JoinReason.REQUESTED))
    run.threadless.poll()


def test_an_assignment_can_be_committed_until_it_is_revoked(run: HandlerRun) -> None:
    """Pending commits end before the partitions are released."""
    assert run.handler.calls == [("taken", BOTH)]
    assert run.session.claims.take_overs(BOTH).keys() == BOTH
    rejoin(run)
    assert run.session.claims.take_overs(BOTH).keys() == BOTH
    run.events.run()
    assert run.handler.calls[1:] == [("revoked", BOTH)]
    assert (run.flushed, run.session.claims.take_overs(BOTH)) == ([2], {})


def test_lost_partitions_are_not_flushed(run: HandlerRun) -> None:
    """The coordinator would refuse the commits."""
    run.lose()
    run.events.run()
    assert run.handler.calls[1:] == [("lost", BOTH)]
    assert run.flushed == []
    run.events.run_and_flush()
    assert run.flushed == [2]


def test_an_error_of_the_handler_is_raised_after_all_calls(
    run: HandlerRun, caplog: pytest.LogCaptureFixture
) -> None:
    """The partitions are revoked and flushed all the same; a raised error is not logged as well."""
    run.handler.on_give_up = fail
    rejoin(run)
    with caplog.at_level(logging.INFO), pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    assert (run.flushed, list(run.threadless.due), caplog.messages) == ([2], [], [])
    assert [type(step) for step in run.threadless.steps()] == [ev.SendJoin]


def test_further_errors_are_logged(run: HandlerRun, caplog: pytest.LogCaptureFixture) -> None:
    """The first error is raised, the others are logged."""
    run.handler.on_give_up = fail
    lost = ev.RevokePartitions(0, frozenset({T0}), RevocationKind.LOST)
    run.threadless.due.extend((lost, lost))
    with pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    assert caplog.messages == ["group g: the handler failed again"]


def test_a_call_whose_end_was_not_reported_is_noticed(run: HandlerRun) -> None:
    """If the end of a call was not reported, the next poll notices it, and joins as a new member.

    This is so after calls that succeeded, and after one that raised.
    """
    run.handler.on_give_up = fail
    rejoin(run)
    with pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    run.threadless.rejoin(BOTH, generation=2)
    run.threadless.due.popleft()  # as if an interrupt had removed it before its report
    run.threadless.clock.advance(10)
    run.threadless.poll()
    leaves = [order for order in run.threadless.orders() if isinstance(order, ev.SendLeave)]
    assert [leave.member_id for leave in leaves] == ["me"]


def test_a_call_inside_a_handler_is_not_taken_for_an_interrupt(run: HandlerRun) -> None:
    """A listener may poll or commit, which reports events, too."""

    def poll(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        run.threadless.clock.advance(10)
        run.threadless.poll()

    run.handler.on_give_up = poll
    rejoin(run)
    run.events.run()
    assert run.handler.calls[1:] == [("revoked", BOTH)]
    assert [order for order in run.threadless.orders() if isinstance(order, ev.SendLeave)] == []
