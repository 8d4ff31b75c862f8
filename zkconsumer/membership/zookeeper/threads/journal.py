"""Turns the actions of a rebalance into events for the observers, with causes and durations."""

from collections.abc import Sequence, Sized

from zkconsumer.clock import Clock
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.plan import Ownership
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    Joined,
    Left,
    Observation,
    PartitionsBlocked,
    PartitionsClaimed,
    PartitionsLost,
    PartitionsReleased,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
)


class RebalanceJournal:
    """Measures one member's rebalances and reports its events. Thread: control."""

    def __init__(self, observation: Observation, clock: Clock) -> None:
        self._observation = observation
        self._clock = clock
        self._left_rest_ms: int | None = None
        self._join_ms = 0
        self._is_member = False
        self._owned: dict[TopicPartition, ConsumerThreadId] = {}

    def joining(self) -> None:
        """Record the time at which the caller joins."""
        self._join_ms = self._clock.now_ms()
        self._is_member = True

    def joined(self) -> None:
        """Report that the first assignment is being read."""
        self._observation.report(Joined(self._clock.now_ms() - self._join_ms))

    def left(self) -> None:
        """Report that the member has left, and every partition it still had as lost."""
        self._lost(tuple(self._owned), "it left without a response from ZooKeeper")
        self._left_rest_ms = None
        if self._is_member:
            self._is_member = False
            self._observation.report(Left())

    def note(self, action: ev.Action) -> None:
        """Report an action that has no result."""
        report = self._observation.report
        match action:
            case ev.Begun(cause):
                if self._left_rest_ms is None:
                    self._left_rest_ms = self._clock.now_ms()
                report(RebalanceStarted(cause.value))
            case ev.Settled(owned, cause, changed):
                now_ms = self._clock.now_ms()
                began_ms = now_ms if self._left_rest_ms is None else self._left_rest_ms
                self._left_rest_ms = None
                report(
                    RebalanceFinished(
                        cause=cause.value,
                        duration_ms=now_ms - began_ms,
                        changed=changed,
                        owned=owned,
                    )
                )
            case ev.RetryLater(attempt, delay_ms, reason):
                report(RebalanceTryFailed(attempt, delay_ms, reason))
            case ev.ReportFailure(attempts, reason):
                report(RebalanceGivenUp(attempts, reason))
            case ev.Blocked(reasons):
                report(PartitionsBlocked(reasons))
            case ev.Lost(partitions):
                self._lost(partitions, "the owner node is gone, or names another member")
            case ev.Fence(reason):
                self._lost(tuple(self._owned), reason)
            case _:
                pass

    def step_done(self, step: ev.Step, began_ms: int, response: ev.StepResult) -> None:
        """Report a finished step with its duration."""
        took_ms = self._clock.now_ms() - began_ms
        report = self._observation.report
        report(RebalanceStep(type(step).__name__, _size(step), took_ms, _failure(response)))
        if isinstance(response, ev.StepDone):
            match step:
                case ev.Claim(_, wanted):
                    self._claimed(wanted)
                case ev.Release(_, owned):
                    self._released(owned)
                case _:
                    pass

    # Every partition is reported as claimed once, then once as released or lost: steps that are
    # repeated, or whose outcome is unknown, must not be counted again.

    def _claimed(self, wanted: Ownership) -> None:
        new = {tp: thread for tp, thread in wanted.items() if self._owned.get(tp) != thread}
        self._owned |= new
        if new:
            self._observation.report(PartitionsClaimed(new))

    def _released(self, owned: Ownership) -> None:
        gone = {tp: thread for tp, thread in owned.items() if self._owned.pop(tp, None) is not None}
        if gone:
            self._observation.report(PartitionsReleased(gone))

    def _lost(self, partitions: Sequence[TopicPartition], reason: str) -> None:
        gone = [tp for tp in partitions if self._owned.pop(tp, None) is not None]
        if gone:
            self._observation.report(PartitionsLost(gone, reason))


def _size(step: ev.Step) -> int:
    subjects: Sized = ()
    match step:
        case ev.ReadGroup(_, check):
            subjects = check
        case ev.Revoke(_, partitions) | ev.LoadOffsets(_, partitions) | ev.Commit(_, partitions):
            subjects = partitions
        case ev.Release(_, owned) | ev.Start(_, owned) | ev.Claim(_, owned):
            subjects = owned
        case ev.Register():
            pass
    return len(subjects)


def _failure(response: ev.StepResult) -> str | None:
    match response:
        case ev.StepFailed(_, reason) | ev.RegistrationBlocked(_, reason):
            return reason
        case ev.ClaimRefused(_, held_by):
            return f"{len(held_by)} partitions have another owner"
        case _:
            return None
