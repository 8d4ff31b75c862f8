"""A member of a coordinator's group, as the poll API sees it."""

import logging
from collections.abc import Callable, Collection, Mapping

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import GroupFailed
from zkconsumer.membership.coordinator.assembly import MemberThreads
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.polled.commits import MemberCommits
from zkconsumer.membership.coordinator.polled.handler_runs import HandlerRuns
from zkconsumer.membership.coordinator.polled.waiting import CallerWaits
from zkconsumer.membership.coordinator.threads.counts import CoordinatorGroupCounts
from zkconsumer.membership.protocol import CommitDone, Offsets, OwnershipHandler
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import ThreadScope

log = logging.getLogger(__name__)

_LEAVE_TIMEOUT_MS = 2_000
"""How long a closing member waits until LeaveGroup is sent."""

_INTERRUPTED_LEAVE_TIMEOUT_MS = 300
"""The same after an exception of a signal handler (Ctrl-C), when the user wants to be gone."""


class GroupMember:
    """``Membership`` in a coordinator's group; or only its offsets, without a subscription.

    The owner stops the dialer and the cluster client after ``close`` and before the scope: that
    ends a connect or a coordinator lookup that hangs.

    Args:
        handler: called when partitions come and go, in the caller's thread.
        view: returns the latest view of the cluster, for ``topics_changed``.
        scope: owns the two threads, which are started.
        request_timeout_ms: ``request.timeout.ms`` of asynchronous commits.

    Attributes:
        counts: what happened, for metrics.
    """

    def __init__(
        self,
        threads: MemberThreads,
        *,
        handler: OwnershipHandler,
        view: Callable[[], ClusterView],
        scope: ThreadScope,
        request_timeout_ms: int,
    ) -> None:
        self._threads = threads
        self._session = threads.session
        self._clock = threads.session.clock
        self._waits = CallerWaits(self._clock, threads.session.responses)
        self._commits = MemberCommits(threads.session, self._waits)
        self._calls = HandlerRuns(threads.session, handler, self._commits.flush)
        self._view = view
        self._request_timeout_ms = request_timeout_ms
        self.counts: CoordinatorGroupCounts = threads.session.counts
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
        self._session.receive(ev.Subscribed(topics, open_ended))

    def poll(self) -> None:
        """See ``Membership``."""
        self.run_callbacks()
        failure = self._waits.death or self._session.take_failure()
        if failure is not None:
            raise failure
        self._session.on_poll()
        self._calls.run()

    def on_topics_changed(self) -> None:
        """See ``Membership``."""
        self._session.on_topics_changed(self._view().partitions)

    def rejoin(self) -> None:
        """See ``Membership``."""
        self._session.receive(ev.RejoinTriggered(ev.JoinReason.ASKED))

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        before = self._waits.closing_by_ms
        try:
            self._leave(self._waits.deadline(timeout_ms))
        finally:
            # Even if the handler raised: later calls have their full time again.
            self._waits.closing_by_ms = before

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        try:
            self._leave(self._clock.now_ms() + timeout_ms)
        finally:
            self._waits.is_closed = True
            self._threads.stop()
            self._commits.abandon()

    def _leave(self, deadline_ms: int) -> None:
        session = self._session
        self._waits.closing_by_ms = deadline_ms
        session.leave()
        grace_ms = _INTERRUPTED_LEAVE_TIMEOUT_MS
        try:
            self._calls.run_and_flush()
            grace_ms = _LEAVE_TIMEOUT_MS
        except Exception:
            grace_ms = _LEAVE_TIMEOUT_MS
            raise
        finally:
            if session.leave_group():
                leave_by_ms = min(deadline_ms, self._clock.now_ms() + grace_ms)
                self._waits.wait(lambda: session.left, leave_by_ms)
            self.run_callbacks()

    # --- commits ------------------------------------------------------------------------

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        self._commits.commit(offsets, timeout_ms=timeout_ms)

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        self._commits.commit_async(offsets, done, timeout_ms=self._request_timeout_ms)

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
        self._waits.death = failure
        self._session.fail(failure)
        self._session.responses.notify()
