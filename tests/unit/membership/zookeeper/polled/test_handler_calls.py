"""The control thread's notices become calls of the handler, in the caller's thread."""

import logging
from collections import deque

import pytest

from tests.support.group_members import RecordingHandler
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.membership.zookeeper.polled.bridge import (
    ClaimsLost,
    Notice,
    PartitionsRequested,
    Started,
)
from zkconsumer.membership.zookeeper.polled.handler_calls import HandlerCalls
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
BOTH = frozenset((T0, T1))


def claims(*partitions: TopicPartition) -> tuple[PartitionClaim, ...]:
    """Return new claims of these partitions."""
    return tuple(PartitionClaim(tp, ChunkQueue(1), 5) for tp in partitions)


class Handled:
    """The handler's calls of a member that has joined.

    Attributes:
        nudges: how often the control thread was woken.
    """

    def __init__(self) -> None:
        self.handler = RecordingHandler()
        self.notices: deque[Notice] = deque()
        self.nudges = 0
        self.calls = HandlerCalls(self.handler, self.notices, self._nudge)
        self.calls.joined = True

    def _nudge(self) -> None:
        self.nudges += 1

    def run(self, *notices: Notice) -> None:
        """Let the control thread send these notices, and the caller poll."""
        self.notices.extend(notices)
        self.calls.run()


@pytest.fixture
def handled() -> Handled:
    """A member with two partitions."""
    handled = Handled()
    handled.run(Started(claims(T0, T1)))
    return handled


def fail(_partitions: frozenset[TopicPartition], why: RevocationKind) -> None:
    """Raise, as a listener may."""
    raise ValueError(f"the caller's, of what was {why.name.lower()}")


def test_an_assignment_is_taken_over_and_counted(handled: Handled) -> None:
    """The handler is told of new partitions; a new claim of one that it has is not reported."""
    again = claims(T1, T2)
    handled.run(Started(again))
    assert handled.handler.calls == [("taken", BOTH), ("taken", frozenset({T2}))]
    assert handled.calls.rounds == 2
    assert handled.calls.active() == {T0, T1, T2}
    assert handled.calls.claims()[T1] is again[0]


def test_a_rebalance_that_ends_after_the_caller_left_is_ignored(handled: Handled) -> None:
    """The member will leave, so nothing is taken over."""
    handled.calls.joined = False
    handled.run(Started(claims(T2)))
    assert (handled.handler.calls, handled.calls.rounds) == ([("taken", BOTH)], 1)


def test_partitions_requested_in_time_are_revoked(handled: Handled) -> None:
    """During the call its claims can still commit; then the control thread is released."""
    held: list[object] = []

    def record(_partitions: frozenset[TopicPartition], _why: RevocationKind) -> None:
        held.append((set(handled.calls.claims()), handled.calls.active(), notice.done))

    handled.handler.on_give_up = record
    notice = PartitionsRequested(frozenset({T0, T2}))
    handled.run(notice)
    assert handled.handler.calls[1:] == [("revoked", frozenset({T0}))]
    assert held == [({T0, T1}, {T1}, False)]
    assert (notice.done, handled.nudges, set(handled.calls.claims())) == (True, 1, {T1})


def test_partitions_requested_too_late_are_lost(handled: Handled) -> None:
    """Its claims can commit no more."""
    held: list[object] = []
    handled.handler.on_give_up = lambda _partitions, _why: held.append(set(handled.calls.claims()))
    notice = PartitionsRequested(frozenset({T0}))
    assert notice.take()
    handled.run(notice)
    assert handled.handler.calls[1:] == [("lost", frozenset({T0}))]
    assert (held, notice.done, handled.nudges) == ([{T1}], True, 1)


def test_partitions_that_are_not_owned_are_not_revoked(handled: Handled) -> None:
    """The handler is not called; the control thread gets its response all the same."""
    notice = PartitionsRequested(frozenset({T2}))
    handled.run(ClaimsLost(frozenset({T2})), notice)
    assert (len(handled.handler.calls), notice.done, handled.nudges) == (1, True, 1)


def test_the_first_error_is_raised_when_all_notices_are_handled(
    handled: Handled, caplog: pytest.LogCaptureFixture
) -> None:
    """Later errors are logged with traceback; a single one is raised and not logged."""
    handled.handler.on_give_up = fail
    requested = PartitionsRequested(frozenset({T0}))
    with (
        caplog.at_level(logging.INFO),
        pytest.raises(ValueError, match="of what was revoked"),
    ):
        handled.run(requested)
    assert (requested.done, handled.nudges, caplog.messages) == (True, 1, [])
    handled.run(Started(claims(T0)))
    with pytest.raises(ValueError, match="of what was lost"):
        handled.run(ClaimsLost(frozenset({T0})), PartitionsRequested(frozenset({T1})))
    assert caplog.messages == ["the handler failed again"]
    assert "of what was revoked" in caplog.text
    assert handled.calls.active() == frozenset()


def test_partitions_still_owned_at_the_end_are_lost(handled: Handled) -> None:
    """Notices that were not handled by then are discarded."""
    handled.notices.append(Started(claims(T2)))
    handled.calls.lose_the_rest()
    assert handled.handler.calls[1:] == [("lost", BOTH)]
    assert (handled.calls.joined, list(handled.notices)) == (False, [])
    handled.calls.lose_the_rest()
    assert len(handled.handler.calls) == 2


def test_a_deactivated_claim_is_not_active(handled: Handled) -> None:
    """The control thread may have deactivated a claim before the caller knows of it."""
    handled.calls.claims()[T0].active = False
    assert handled.calls.active() == {T1}
    assert set(handled.calls.claims()) == BOTH
