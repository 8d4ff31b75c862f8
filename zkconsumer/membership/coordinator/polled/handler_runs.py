"""Runs the calls of the handler that are due, in the caller's thread."""

import logging
from collections.abc import Callable
from functools import partial

from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.protocol import OwnershipHandler, RevocationKind

log = logging.getLogger(__name__)


class HandlerRuns:
    """The calls of a member's handler. Thread: the caller's.

    Args:
        session: the member; it lists the calls.
        flush: lets pending commits end, before partitions that are still ours go.
    """

    def __init__(
        self, session: MemberSession, handler: OwnershipHandler, flush: Callable[[], None]
    ) -> None:
        self._session = session
        self._handler = handler
        self._flush = flush

    def run(self) -> None:
        """Run all due calls; raise the first error at the end."""
        session = self._session
        failed: Exception | None = None
        while session.calls:
            session.handling += 1
            reached = False
            try:
                call = session.calls.popleft()
                try:
                    work = self._work_of(call)
                    reached = True
                    work()
                except Exception as error:  # the caller's code
                    if failed is None:
                        failed = error
                    else:
                        log.exception("%s: the handler failed again", session.name)
                finally:
                    # Else it is not done: the next poll notices, and joins again.
                    if reached:
                        session.on_call_done(call)
            finally:
                session.handling -= 1
        if failed is not None:
            raise failed

    def run_and_flush(self) -> None:
        """Run all due calls, then flush."""
        self._then_flush(self.run)

    def _work_of(self, call: ev.RevokePartitions | ev.TakeOver) -> Callable[[], None]:
        if isinstance(call, ev.TakeOver):
            self._session.take_over(call)
            return partial(self._handler.take_over, call.added, call.owned)
        give_up = partial(self._handler.give_up, call.partitions, call.why)
        return partial(self._then_flush, give_up) if call.why is RevocationKind.REVOKED else give_up

    def _then_flush(self, work: Callable[[], None]) -> None:
        """Flush after it, even if the caller's code failed; not after an interrupt (Ctrl-C)."""
        try:
            work()
        except Exception:
            self._flush()
            raise
        self._flush()
