"""The calls of a handler: each once, in order, with commits flushed where they still count."""

import logging

import pytest

from tests.support.quiet_session import QuietSession
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = frozenset((T0, T1))


class Run:
    """A member's handler, and the caller that runs its calls.

    Attributes:
        flushed: what the handler had heard at each flush.
    """

    def __init__(self) -> None:
        self.flushed: list[int] = []
        self.quiet = QuietSession(flush=self._flush)
        self.session = self.quiet.session
        self.handler = self.quiet.handler
        self.events = self.quiet.events

    def _flush(self) -> None:
        self.flushed.append(len(self.handler.notes))

    def joined(self) -> "Run":
        """Take a first share over."""
        self.quiet.join(BOTH)
        self.events.run()
        return self

    def lose(self) -> None:
        """Let the coordinator say that it knows us no longer."""
        self.quiet.clock.advance(300)
        self.session.notify(ev.TimerExpired())
        self.session.notify(ev.HeartbeatCompleted("me", 1, 25))
        self.quiet.poll()


@pytest.fixture
def run() -> Run:
    """A member with two partitions."""
    return Run().joined()


def fail(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
    """What a listener may do."""
    raise ValueError("the caller's")


def rejoin(run: Run) -> None:
    """Ask for a rebalance, before which an eager member gives up all."""
    run.session.notify(ev.RejoinTriggered(ev.JoinReason.ASKED))
    run.quiet.poll()


def test_a_share_can_be_committed_from_its_take_over_until_it_is_given_up(run: Run) -> None:
    """Commits that are pending end before the partitions go."""
    assert run.handler.notes == [("taken", BOTH)]
    assert run.session.claims.take_overs(BOTH).keys() == BOTH
    rejoin(run)
    assert run.session.claims.take_overs(BOTH).keys() == BOTH
    run.events.run()
    assert run.handler.notes[1:] == [("revoked", BOTH)]
    assert (run.flushed, run.session.claims.take_overs(BOTH)) == ([2], {})


def test_nothing_is_flushed_of_what_is_lost(run: Run) -> None:
    """Nobody would take it."""
    run.lose()
    run.events.run()
    assert run.handler.notes[1:] == [("lost", BOTH)]
    assert run.flushed == []
    run.events.run_and_flush()
    assert run.flushed == [2]


def test_what_a_handler_raises_comes_out_when_all_calls_are_done(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Its partitions are given up all the same, and flushed; one error is not logged as well."""
    run.handler.on_give_up = fail
    rejoin(run)
    with caplog.at_level(logging.INFO), pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    assert (run.flushed, list(run.quiet.due), caplog.messages) == ([2], [], [])
    assert [type(step) for step in run.quiet.steps()] == [ev.SendJoin]


def test_further_errors_are_logged(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """The first one is raised."""
    run.handler.on_give_up = fail
    lost = ev.RevokePartitions(0, frozenset({T0}), RevocationKind.LOST)
    run.quiet.due.extend((lost, lost))
    with pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    assert caplog.messages == ["group g: the handler failed again"]


def test_calls_that_ended_are_no_longer_under_way(run: Run) -> None:
    """So a call whose end was not reported is noticed by the next poll: it joins anew.

    Also after calls that went well, and after one that raised.
    """
    run.handler.on_give_up = fail
    rejoin(run)
    with pytest.raises(ValueError, match="the caller's"):
        run.events.run()
    run.quiet.rejoin(BOTH, generation=2)
    run.quiet.due.popleft()  # as an interrupt takes it away before its report
    run.quiet.clock.advance(10)
    run.quiet.poll()
    leaves = [order for order in run.quiet.orders() if isinstance(order, ev.SendLeave)]
    assert [leave.member_id for leave in leaves] == ["me"]


def test_a_call_inside_of_a_handler_does_not_look_like_an_interrupt(run: Run) -> None:
    """A listener may poll, or commit, which reports, too."""

    def poll(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        run.quiet.clock.advance(10)
        run.quiet.poll()

    run.handler.on_give_up = poll
    rejoin(run)
    run.events.run()
    assert run.handler.notes[1:] == [("revoked", BOTH)]
    assert [order for order in run.quiet.orders() if isinstance(order, ev.SendLeave)] == []
