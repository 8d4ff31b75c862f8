"""Reports the caller's events to the core, and makes the handler calls that follow from them."""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.orders import GroupOrders
from zkconsumer.membership.protocol import OwnershipHandler, Partitions, RevocationKind

log = logging.getLogger(__name__)

_POLL_NOTICE_MS = 10
"""Minimum interval between poll notifications to the core: a tight loop polls every 100 us."""


class CallerEvents:
    """Reports the caller's events to the core, and runs the handler's calls. Thread: the caller's.

    A signal handler's exception may leave a report incomplete: a step that no thread executes, or
    an event that nobody receives. Nothing shows which, so such a member leaves and joins again.

    Args:
        flush: lets pending commits end before partitions that are still ours are given up.
    """

    def __init__(
        self,
        session: MemberSession,
        caller: Caller,
        orders: GroupOrders,
        handler: OwnershipHandler,
        flush: Callable[[], None],
    ) -> None:
        self._session = session
        self._caller = caller
        self._orders = orders
        self._handler = handler
        self._flush = flush
        self._due: deque[ev.HandlerCall] = deque()
        self._running = 0
        self._awaited_round = 0
        self._taken_over: Partitions = frozenset()
        self._leave_request: ev.SendLeave | None = None

    # --- events -------------------------------------------------------------------------

    def report(self, event: ev.Subscribed | ev.RejoinTriggered) -> None:
        """Report a subscription, or a request to join again."""
        session = self._session
        with session.lock:
            self._begin()
            if isinstance(event, ev.Subscribed):
                session.subscription, session.leaving_as = event, None
            self._receive(event)
            self._caller.quiet_until_ms = 0
            session.is_interrupted = False

    def poll(self) -> None:
        """Report a poll, unless one was reported just now and nothing has happened since."""
        session, now_ms = self._session, self._session.clock.now_ms()
        if now_ms < self._caller.quiet_until_ms:
            return
        with session.lock:
            if self._awaited_round and not (self._due or self._running):
                # Interrupted between a handler call and the report that it is done.
                session.is_interrupted = True
            self._begin()
            self._receive(ev.Polled())
            self._caller.quiet_until_ms = now_ms + _POLL_NOTICE_MS
            session.is_interrupted = False

    def leave(self) -> None:
        """Begin to leave: queue the handler's last call, which ``leave_group`` must follow."""
        session = self._session
        with session.lock:
            was_interrupted, session.is_interrupted = session.is_interrupted, True
            if session.subscription is not None:
                session.leaving_as = session.signature()
            self._due.clear()
            session.subscription, self._awaited_round = None, 0
            self._receive(ev.Leave())
            if was_interrupted:
                self._lose_all()
            session.is_interrupted = False

    def leave_group(self) -> bool:
        """Queue a LeaveGroup request; return True if the coordinator must be notified."""
        with self._session.lock:
            self._session.leaving_as = None
            self._session.claims.void()
            self._caller.failure = None
            self._orders.has_left = self._leave_request is None
            return self._send_leave()

    def _send_leave(self) -> bool:
        request, self._leave_request = self._leave_request, None
        if request is not None:
            self._orders.put(request)
        return request is not None

    def _begin(self) -> None:
        """Mark the report as incomplete; start over if the previous one still is."""
        session = self._session
        if session.is_interrupted:
            name = session.terms.name
            log.warning("%s: a call was interrupted by an exception: rejoining the group", name)
            self._awaited_round = 0
            self._receive(ev.Leave())
            self._send_leave()
            self._lose_all()
            if session.subscription is not None:
                self._receive(session.subscription)
        session.is_interrupted = True

    def _lose_all(self) -> None:
        """Void the claims, and report everything that the handler was given as lost."""
        self._session.claims.void()
        self._due.clear()
        if self._taken_over:
            self._due.append(ev.RevokePartitions(0, self._taken_over, RevocationKind.LOST))

    def _receive(self, event: ev.CallerEvent | ev.CallbackDone) -> None:
        for action in self._session.receive(event):
            if isinstance(action, ev.SendLeave):
                self._leave_request = action
            else:
                self._awaited_round = action.round
                self._due.append(action)

    # --- calls of the handler -----------------------------------------------------------

    def run(self) -> None:
        """Run all due calls of the handler; raise the first error at the end."""
        failed: Exception | None = None
        while self._due:
            self._running += 1
            reached = False
            try:
                call = self._due.popleft()
                try:
                    work = self._work_of(call)
                    reached = True
                    work()
                except Exception as error:  # the caller's code
                    if failed is None:
                        failed = error
                    else:
                        log.exception("%s: the handler failed again", self._session.terms.name)
                finally:
                    # A call that never started is not done: the next poll notices, and rejoins.
                    if reached:
                        self._on_done(call)
            finally:
                self._running -= 1
        if failed is not None:
            raise failed

    def run_and_flush(self) -> None:
        """Run all due calls, then flush."""
        self._then_flush(self.run)

    def _work_of(self, call: ev.HandlerCall) -> Callable[[], None]:
        if isinstance(call, ev.TakeOver):
            with self._session.lock:
                self._taken_over = call.owned
                self._session.claims.take(call.added)
            return partial(self._handler.take_over, call.added, call.owned)
        give_up = partial(self._handler.give_up, call.partitions, call.why)
        return partial(self._then_flush, give_up) if call.why is RevocationKind.REVOKED else give_up

    def _then_flush(self, work: Callable[[], None]) -> None:
        """Run ``work``, then flush, even if it failed; not after an interrupt (Ctrl-C)."""
        try:
            work()
        except Exception:
            self._flush()
            raise
        self._flush()

    def _on_done(self, call: ev.HandlerCall) -> None:
        """Report to the core that a call is done."""
        session = self._session
        with session.lock:
            self._begin()
            if isinstance(call, ev.RevokePartitions):
                session.claims.drop(call.partitions)
                self._taken_over -= call.partitions
            if call.round:
                if call.round == self._awaited_round:
                    self._awaited_round = 0
                self._receive(ev.CallbackDone(call.round))
            session.is_interrupted = False
