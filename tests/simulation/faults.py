"""Planted faults of the rebalance: the core, its steps, the look at the group, the control thread.

Each is a small mutation that somebody might make by mistake.
"""

from tests.simulation.product import Product, Swap
from tests.support.rebalance_faults import (
    ForgetsUnknownClaims,
    ReleasesFirst,
    TakesAnySessionsEnd,
    TrustsItsMemory,
)
from zkconsumer.membership.zookeeper import assembly
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.plan import RebalancePlan
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceState
from zkconsumer.membership.zookeeper.threads import steps
from zkconsumer.membership.zookeeper.threads.control import ControlThread
from zkconsumer.membership.zookeeper.threads.group_reader import GroupReader
from zkconsumer.membership.zookeeper.threads.messages import Message
from zkconsumer.membership.zookeeper.threads.steps import RebalanceSteps
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.zk.registry import GroupWatches

Actions = tuple[ev.Action, ...]


class LoadsBeforeClaiming(RebalanceCore):
    """Offsets are loaded before the claim, as the original does."""

    _loaded: ev.OffsetsLoaded | None = None

    def _claim(self, plan: RebalancePlan) -> Actions:
        if not plan.take:
            return super()._claim(plan)
        self.state = RebalanceState.LOADING
        return (ev.LoadOffsets(self._round, tuple(plan.take)),)

    def _offsets_loaded(self, event: ev.OffsetsLoaded) -> Actions:
        self._loaded = event
        return super()._claim(self._current_plan())

    def _after_claim(self) -> Actions:
        assert self._loaded is not None
        self.claimed.update(self._current_plan().take)
        return super()._offsets_loaded(self._loaded)


class NeverRetries(RebalanceCore):
    """After a failed try it waits for the next trigger."""

    def _back_off(self, reason: str) -> Actions:
        actions = super()._back_off(reason)
        if self.state is RebalanceState.BACKING_OFF:
            self._deadline_ms = None
        return actions


class GivesUpForGood(RebalanceCore):
    """After the last try that is allowed it stays registered, and does nothing."""

    def _fail(self, now_ms: int) -> Actions:
        actions = super()._fail(now_ms)
        self._deadline_ms = None
        return actions


class IgnoresReconnections(RebalanceCore):
    """Watches that were lost with the connection are not left anew."""

    def _session_started(self, session_id: int) -> Actions:
        if session_id == self._session_id:
            return ()
        return super()._session_started(session_id)


class NeverAudits(RebalanceCore):
    """It does not look around while at rest."""

    def _settle(self) -> Actions:
        actions = super()._settle()
        if self.state is RebalanceState.OWNING:
            self._deadline_ms = None
        return actions


class CommitsWhatWasLost(RebalanceCore):
    """What was taken from it is committed, as if it were given up in order."""

    def _after_stop(self) -> Actions:
        plan = self._current_plan()
        if plan.lost:
            self._plan = RebalancePlan(
                lost={}, give_up={**plan.lost, **plan.give_up}, release=plan.release, take=plan.take
            )
        return super()._after_stop()


class CommitsAfterwards(RebalanceSteps):
    """The commit of a hand-over is made when the nodes are released already."""

    _due: ev.Commit | None = None

    def _run(self, step: ev.Step) -> ev.StepResult:
        response = super()._run(step)
        if isinstance(step, ev.Release) and self._due is not None:
            super()._transfer(self._due)
            self._due = None
        return response

    def _transfer(self, step: ev.Commit) -> None:
        self._due = step


class CommitsNothing(RebalanceSteps):
    """A hand-over is not committed."""

    def _transfer(self, step: ev.Commit) -> None:
        """Nothing."""


class DoesNotRevoke(RebalanceSteps):
    """What is given up is read on."""

    def _run(self, step: ev.Step) -> ev.StepResult:
        if isinstance(step, ev.Revoke):
            return ev.StepDone(step.round)
        return super()._run(step)


class StartsFromMemory(RebalanceSteps):
    """An offset that was loaded once is not loaded again."""

    def _load_offsets(self, step: ev.LoadOffsets) -> ev.StepResult:
        seen = self.__dict__.setdefault("seen", {})
        response = super()._load_offsets(step)
        if not isinstance(response, ev.OffsetsLoaded):
            return response
        offsets = {tp: seen.get(tp, offset) for tp, offset in response.offsets.items()}
        seen.update(offsets)
        return ev.OffsetsLoaded(response.round, offsets)


class WatchesOnce(GroupReader):
    """The watch on the members is left once, and not again when it has fired."""

    _watched = False

    def _group_watches(self, subscription: StreamSubscription) -> GroupWatches:
        watches = super()._group_watches(subscription)
        if self._watched:
            return GroupWatches(
                members=_nobody,
                topics=watches.topics,
                topic_list=watches.topic_list,
                brokers=watches.brokers,
            )
        self._watched = True
        return watches


def _nobody(path: str, event: str) -> None:
    del path, event


class BelievesItIsRegistered(GroupReader):
    """It never looks whether its registration is still there."""

    def _is_ours(self, *args: object) -> bool:
        del args
        return True


class DropsTriggers(ControlThread):
    """A trigger that comes during a round is dropped."""

    def _feed(self, event: ev.Event) -> None:
        super()._feed(event)
        for message in self.mailbox.drain():
            if not isinstance(message, ev.RebalanceTriggered):
                self.mailbox.put(message)


class LosesTheBacklog(ControlThread):
    """What came together with a trigger is dropped with the triggers that repeat it."""

    def _next_message(self, timeout_ms: int | None) -> Message | None:
        message = super()._next_message(timeout_ms)
        self._backlog.clear()
        return message


class StaysRegisteredWhenLeaving(ControlThread):
    """It leaves without giving its partitions up, and the session goes on for a while."""

    def _run_leaving(self) -> list[ev.Action]:
        """Nothing."""
        return []


REBALANCE_FAULTS: dict[str, Product] = {
    fault.__name__: Product(swaps=(Swap(assembly, "RebalanceCore", fault),))
    for fault in (
        TakesAnySessionsEnd,
        LoadsBeforeClaiming,
        ReleasesFirst,
        TrustsItsMemory,
        ForgetsUnknownClaims,
        NeverRetries,
        GivesUpForGood,
        IgnoresReconnections,
        NeverAudits,
        CommitsWhatWasLost,
    )
}
REBALANCE_FAULTS |= {
    fault.__name__: Product(swaps=(Swap(assembly, "RebalanceSteps", fault),))
    for fault in (CommitsAfterwards, CommitsNothing, DoesNotRevoke, StartsFromMemory)
}
REBALANCE_FAULTS |= {
    fault.__name__: Product(swaps=(Swap(assembly, "ControlThread", fault),))
    for fault in (DropsTriggers, LosesTheBacklog, StaysRegisteredWhenLeaving)
}
REBALANCE_FAULTS |= {
    fault.__name__: Product(swaps=(Swap(steps, "GroupReader", fault),))
    for fault in (WatchesOnce, BelievesItIsRegistered)
}
