"""Guards the core of a member with a lock: any thread reports events to it, one at a time.

The resulting actions go to the thread that executes them: requests to the network threads, handler
calls to the caller, which is in ``poll`` when they arise.
"""

import logging
import threading
from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.errors import GroupFailed
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.claims import Claims
from zkconsumer.membership.coordinator.core.membership import MembershipCore
from zkconsumer.membership.coordinator.core.states import MembershipState
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorLocation,
)
from zkconsumer.membership.coordinator.threads.counts import CoordinatorGroupCounts
from zkconsumer.membership.coordinator.threads.orders import GroupOrders, JoinSteps
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.coordinator_requests import NOBODY, Signature

log = logging.getLogger(__name__)


class MemberSession:
    """One member of one group, shared by its threads.

    Args:
        terms: the group, and its settings.
        random: returns numbers in [0, 1).
        orders, steps, caller: where the core's actions go.

    Attributes:
        lock: held while the core is used, and as long as its result must stay valid.
        location: the coordinator's address.
        claims: the partitions that may be committed.
        subscription: the member's subscription; None: there is none, or it is leaving.
        leaving_as: the identity under which a leaving member still commits; else None.
        is_interrupted: whether a report of the caller is, or was left, unfinished: then no event
            reaches the core, and no ownership is certain, until the next report starts over.
    """

    def __init__(
        self,
        terms: GroupTerms,
        *,
        clock: Clock,
        random: Callable[[], float],
        orders: GroupOrders,
        steps: JoinSteps,
        caller: Caller,
    ) -> None:
        self.terms = terms
        self.clock = clock
        # Reentrant: a signal handler may close the consumer in the middle of another call.
        self.lock = threading.RLock()
        self.location = CoordinatorLocation(
            terms.settings.backoff, clock, steps.connection, orders.connection
        )
        self.claims = Claims()
        self.counts = CoordinatorGroupCounts()
        self.subscription: ev.Subscribed | None = None
        self.leaving_as: Signature | None = None
        self.is_interrupted = False
        self._core = MembershipCore(terms.settings, random)
        self._orders = orders
        self._steps = steps
        self._caller = caller

    # --- state --------------------------------------------------------------------------

    @property
    def state(self) -> MembershipState:
        """The state of the member."""
        return self._core.state

    @property
    def is_subscribed(self) -> bool:
        """Whether commits are made as a member, which may be leaving."""
        return self.subscription is not None or self.leaving_as is not None

    def signature(self) -> Signature:
        """Return the identity under which this member commits now."""
        with self.lock:
            if self.leaving_as is not None:
                return self.leaving_as
            if self.subscription is None:
                return NOBODY
            identity = self._core.identity
            return Signature(
                identity.member_id, identity.generation, self.terms.settings.instance_id
            )

    def deliverable(self) -> frozenset[TopicPartition]:
        """Return the partitions that are certainly ours now."""
        with self.lock:
            until_ms = self._core.trusted_until_ms
            if self.is_interrupted or until_ms is None or self.clock.now_ms() >= until_ms:
                return frozenset()
            return self._core.owned

    def deadline_ms(self) -> int | None:
        """Return the core's next deadline; the group thread waits until then."""
        with self.lock:
            deadline_ms = None if self.is_interrupted else self._core.next_deadline_ms()
            self._orders.wakes_at_ms = deadline_ms
            return deadline_ms

    # --- events of the network threads --------------------------------------------------

    def notify(self, event: ev.Event, *, cause: Exception | None = None) -> None:
        """Report a network thread's event to the core; ``cause``: the error behind a refusal."""
        with self.lock:
            if not self.is_interrupted:  # otherwise the next poll starts over
                self.receive(event, cause=cause)
            self._caller.quiet_until_ms = 0
        if not isinstance(event, ev.TimerExpired):
            self._caller.wake()

    def on_connection_lost(self, address: CoordinatorAddress, reason: str) -> None:
        """Record that a connection to this address broke."""
        if self.location.invalidate(address):
            log.info("%s: lost the coordinator, %s: %s", self.terms.name, address.broker, reason)
            self.notify(ev.CoordinatorLost())

    def set_timeouts(self, session_ms: int, rebalance_ms: int) -> None:
        """Set the timeouts that were agreed with the coordinator."""
        with self.lock:
            self._core.set_timeouts(
                session_timeout_ms=session_ms, rebalance_timeout_ms=rebalance_ms
            )

    # --- with the lock ------------------------------------------------------------------

    def receive(
        self, event: ev.Event, *, cause: Exception | None = None
    ) -> list[ev.HandlerCall | ev.SendLeave]:
        """Report an event to the core, and pass its actions on.

        Returns:
            The actions for the caller: handler calls, which only its own events cause; and, if the
            event is ``Leave``, the request to send after them.
        """
        callers: list[ev.HandlerCall | ev.SendLeave] = []
        generation = self._core.identity.generation
        for action in self._core.receive(event, self.clock.now_ms()):
            match action:
                case ev.RevokePartitions() | ev.TakeOver():
                    callers.append(action)
                case ev.SendLeave() if isinstance(event, ev.Leave):
                    callers.append(action)
                case ev.FindCoordinator() | ev.SendHeartbeat() | ev.SendLeave():
                    self._orders.put(action)
                case ev.SendJoin() | ev.Assign() | ev.SendSync():
                    self._steps.put(action, self.location.address)
                case _:
                    self._change(action, cause)
        if self._core.identity.generation > generation:
            self.counts.joined += 1
        self._orders.wake_by(self._core.next_deadline_ms())
        return callers

    def _change(self, action: ev.MemberChange, cause: Exception | None) -> None:
        name = self.terms.name
        match action:
            case ev.ForgetCoordinator(reason):
                log.info("%s: looking up the coordinator again: %s", name, reason)
                self.location.forget()
            case ev.FenceMember(reason):
                self.claims.void()
                self.counts.lost += 1
                log.warning("%s: its partitions are lost: %s", name, reason)
            case ev.Notice(text):
                log.warning("%s: %s", name, text)
            case ev.Raise(code, text, final):
                why = str(cause or text)
                failure = GroupFailed(self.terms.group_id, why, code=code, final=final)
                failure.__cause__ = cause
                self._caller.fail(failure, replaces=True)
