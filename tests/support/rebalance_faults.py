"""Bugs planted in the rebalance core, which its properties and the simulation must find."""

from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.plan import RebalancePlan
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceState

Actions = tuple[ev.Action, ...]


class TakesAnySessionsEnd(RebalanceCore):
    """Takes the end of any session for the end of its own."""

    def _session_ended(self, session_id: int) -> Actions:
        del session_id
        return super()._session_ended(self._session_id or 0)


class ReleasesFirst(RebalanceCore):
    """Deletes owner nodes while their partitions are still being read."""

    def _stop(self, plan: RebalancePlan) -> Actions:
        if not plan.release:
            return super()._stop(plan)
        self.state = RebalanceState.STOPPING
        return (ev.Release(self._round, plan.release),)


class TrustsItsMemory(RebalanceCore):
    """Never checks whether its owner nodes still exist."""

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
    """Assumes that a claim whose response was lost did not happen."""

    def _back_off(self, reason: str) -> Actions:
        for tp in [tp for tp in self.claimed if tp not in self.started]:
            del self.claimed[tp]
        return super()._back_off(reason)
