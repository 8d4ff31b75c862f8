"""Planted faults of the rebalance: its core, its steps, the group reader and the control thread.

Each is a small mutation, such as a mistake might cause.
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
from zkconsumer.zk.group_values import GroupWatches

Actions = tuple[ev.Action, ...]


class LoadsBeforeClaiming(RebalanceCore):
    """A core that loads offsets before it claims, as the original does."""

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
    """A core that waits for the next trigger after a failed attempt."""

    def _back_off(self, reason: str) -> Actions:
        actions = super()._back_off(reason)
        if self.state is RebalanceState.BACKING_OFF:
            self._deadline_ms = None
        return actions


class GivesUpForGood(RebalanceCore):
    """A core that stays registered after its last attempt but does nothing more."""

    def _fail(self, now_ms: int) -> Actions:
        actions = super()._fail(now_ms)
        self._deadline_ms = None
        return actions


class IgnoresReconnections(RebalanceCore):
    """A core that does not set again the watches that a lost connection took with it."""

    def _session_started(self, session_id: int) -> Actions:
        if session_id == self._session_id:
            return ()
        return super()._session_started(session_id)


class NeverAudits(RebalanceCore):
    """A core that makes no audits while it is stable."""

    def _settle(self) -> Actions:
        actions = super()._settle()
        if self.state is RebalanceState.OWNING:
            self._deadline_ms = None
        return actions


class CommitsWhatWasLost(RebalanceCore):
    """A core that commits lost partitions as though it had given them up in order."""

    def _after_stop(self) -> Actions:
        plan = self._current_plan()
        if plan.lost:
            self._plan = RebalancePlan(
                lost={}, give_up={**plan.lost, **plan.give_up}, release=plan.release, take=plan.take
            )
        return super()._after_stop()


class CommitsAfterwards(RebalanceSteps):
    """Steps that commit a handover only after the nodes are released."""

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
    """Steps that do not commit a handover."""

    def _transfer(self, step: ev.Commit) -> None:
        """Nothing."""


class DoesNotRevoke(RebalanceSteps):
    """Steps that go on reading revoked partitions."""

    def _run(self, step: ev.Step) -> ev.StepResult:
        if isinstance(step, ev.Revoke):
            return ev.StepDone(step.round)
        return super()._run(step)


class StartsFromMemory(RebalanceSteps):
    """Steps that do not load an offset again that they loaded once."""

    def _load_offsets(self, step: ev.LoadOffsets) -> ev.StepResult:
        seen = self.__dict__.setdefault("seen", {})
        response = super()._load_offsets(step)
        if not isinstance(response, ev.OffsetsLoaded):
            return response
        offsets = {tp: seen.get(tp, offset) for tp, offset in response.offsets.items()}
        seen.update(offsets)
        return ev.OffsetsLoaded(response.round, offsets)


class WatchesOnce(GroupReader):
    """A reader that does not set the watch on the members again after it has fired."""

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
    """A reader that never checks whether its registration still exists."""

    def _is_ours(self, *args: object) -> bool:
        del args
        return True


class DropsTriggers(ControlThread):
    """A control thread that drops triggers that arrive during a round."""

    def _feed(self, event: ev.Event) -> None:
        super()._feed(event)
        for message in self.mailbox.drain():
            if not isinstance(message, ev.RebalanceTriggered):
                self.mailbox.put(message)


class LosesTheBacklog(ControlThread):
    """A control thread that drops messages together with repeated triggers."""

    def _next_message(self, timeout_ms: int | None) -> Message | None:
        message = super()._next_message(timeout_ms)
        self._backlog.clear()
        return message


class StaysRegisteredWhenLeaving(ControlThread):
    """A control thread that leaves without releasing, while the session goes on."""

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
