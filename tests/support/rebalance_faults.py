"""Planted faults of the rebalance core that its properties and the simulation must both see."""

from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.plan import RebalancePlan
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceState

Actions = tuple[ev.Action, ...]


class TakesAnySessionsEnd(RebalanceCore):
    """The end of any session is taken for the end of its own."""

    def _session_ended(self, session_id: int) -> Actions:
        del session_id
        return super()._session_ended(self._session_id or 0)


class ReleasesFirst(RebalanceCore):
    """Owner nodes are deleted while they are still being read."""

    def _stop(self, plan: RebalancePlan) -> Actions:
        if not plan.release:
            return super()._stop(plan)
        self.state = RebalanceState.STOPPING
        return (ev.Release(self._round, plan.release),)


class TrustsItsMemory(RebalanceCore):
    """It never looks whether its owner nodes are still there."""

    def _group_read(self, event: ev.GroupRead) -> Actions:
        return super()._group_read(
            ev.GroupRead(
                round=event.round,
                view=event.view,
                registered=event.registered,
                held=frozenset(self.claimed),
                broker_count=event.broker_count,
                stopped=event.stopped,
            )
        )


class ForgetsUnknownClaims(RebalanceCore):
    """A claim whose answer was lost is taken for one that did not happen."""

    def _back_off(self, reason: str) -> Actions:
        for tp in [tp for tp in self.claimed if tp not in self.started]:
            del self.claimed[tp]
        return super()._back_off(reason)
