"""A member of a coordinator's group, as the poll API sees it."""

import logging
from collections.abc import Collection, Mapping

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import GroupFailed
from zkconsumer.membership.coordinator.assembly import MemberThreads
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.polled.caller_events import CallerEvents
from zkconsumer.membership.coordinator.threads.counts import CoordinatorGroupCounts
from zkconsumer.membership.protocol import CommitDone, Offsets, OwnershipHandler
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import ThreadScope

log = logging.getLogger(__name__)

_LEAVE_TIMEOUT_MS = 2_000
"""How long a closing member waits for LeaveGroup to be sent."""

_INTERRUPTED_LEAVE_TIMEOUT_MS = 300
"""The same after a signal handler's exception (Ctrl-C): the user wants the program to end."""


class GroupMember:
    """``Membership`` in a coordinator's group; without a subscription, access to its offsets only.

    The owner stops the dialer and the cluster client after ``close`` and before the scope, which
    ends a hanging connect or coordinator lookup.

    Args:
        handler: called when partitions come and go, in the caller's thread.
        scope: owns the two threads, which are started here.

    Attributes:
        counts: the counts of events, for metrics.
    """

    def __init__(
        self,
        threads: MemberThreads,
        *,
        handler: OwnershipHandler,
        scope: ThreadScope,
    ) -> None:
        self._threads = threads
        self._session = threads.jobs.session
        self._clock = self._session.clock
        self._caller = threads.caller
        self._commits = threads.jobs
        self._events = CallerEvents(
            self._session, self._caller, threads.orders, handler, self._commits.flush
        )
        self.counts: CoordinatorGroupCounts = self._session.counts
        threads.start(scope, self._broken)

    # --- state --------------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """See ``Membership``."""
        return self._session.signature().member_id

    @property
    def generation(self) -> int:
        """See ``Membership``."""
        return self._session.signature().generation

    @property
    def state(self) -> str:
        """See ``Membership``."""
        return self._session.state.name.lower()

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return self.counts.numbers(self._clock.now_ms())

    def deliverable(self) -> frozenset[TopicPartition]:
        """See ``Membership``."""
        return self._session.deliverable()

    # --- membership ---------------------------------------------------------------------

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """See ``Membership``."""
        self._events.report(ev.Subscribed(topics, open_ended))

    def poll(self) -> None:
        """See ``Membership``."""
        self.run_callbacks()
        failure = self._caller.take_failure()
        if failure is not None:
            raise failure
        self._events.poll()
        self._events.run()

    def on_topics_changed(self, view: ClusterView) -> None:
        """See ``Membership``."""
        self._threads.join.on_topics_changed(view.partitions)

    def rejoin(self) -> None:
        """See ``Membership``."""
        self._events.report(ev.RejoinTriggered(ev.JoinReason.REQUESTED))

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        before = self._caller.closing_by_ms
        try:
            self._leave(self._caller.deadline(timeout_ms))
        finally:
            # Even if the handler raised: later calls have their own deadlines.
            self._caller.closing_by_ms = before

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        try:
            self._leave(self._clock.now_ms() + timeout_ms)
        finally:
            self._caller.is_closed = True
            self._threads.stop()
            self._commits.abandon()

    def _leave(self, deadline_ms: int) -> None:
        self._caller.closing_by_ms = deadline_ms
        self._events.leave()
        grace_ms = _INTERRUPTED_LEAVE_TIMEOUT_MS
        try:
            self._events.run_and_flush()
            grace_ms = _LEAVE_TIMEOUT_MS
        except Exception:
            grace_ms = _LEAVE_TIMEOUT_MS
            raise
        finally:
            self._threads.join.forget_topics()
            if self._events.leave_group():
                leave_by_ms = min(deadline_ms, self._clock.now_ms() + grace_ms)
                self._caller.wait(lambda: self._threads.orders.has_left, leave_by_ms)
            self.run_callbacks()

    # --- commits ------------------------------------------------------------------------

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        self._commits.commit(offsets, timeout_ms=timeout_ms)

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        timeout_ms = self._session.terms.settings.request_timeout_ms
        self._commits.commit_async(offsets, done, timeout_ms=timeout_ms)

    def run_callbacks(self) -> None:
        """See ``Membership``."""
        self._commits.run_callbacks()

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``. Thread: any."""
        return self._commits.committed(partitions, timeout_ms=timeout_ms)

    def _broken(self, error: BaseException) -> None:
        """Record that a thread of ours died: that is a bug, which every ``poll`` reports."""
        failure = GroupFailed(
            self._session.terms.group_id, f"the member broke down: {error!r}", final=True
        )
        failure.__cause__ = error
        self._caller.death = failure
        self._caller.wake()
        self._caller.responses.notify()
