"""A member of a coordinator's group, as the poll API sees it."""

import logging
from collections.abc import Callable, Collection, Mapping
from functools import partial

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConsumerClosed, GroupFailed
from zkconsumer.membership.coordinator.assembly import MemberThreads
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.threads.counts import CoordinatorGroupCounts
from zkconsumer.membership.protocol import CommitDone, Offsets, OwnershipHandler, RevocationKind
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import Mailbox, ThreadScope

log = logging.getLogger(__name__)

_MAX_SLEEP_MS = 500
"""Longest sleep of the caller's thread in one piece: signal handlers run in between."""

_LEAVE_TIMEOUT_MS = 2_000
"""How long a closing member waits until LeaveGroup is sent."""

_INTERRUPTED_LEAVE_TIMEOUT_MS = 300
"""The same after an exception of a signal handler (Ctrl-C), when the user wants to be gone."""

_FLUSH_MS = 5_000
"""How long revoked partitions wait for commits under way: as long as a broker does."""


class GroupMember:
    """``Membership`` in a coordinator's group; or only its offsets, without a subscription.

    The owner stops the dialer and the cluster client after ``close`` and before the scope: that
    ends a connect or a coordinator lookup that hangs.

    Args:
        threads: the member's.
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
        self._handler = handler
        self._view = view
        self._request_timeout_ms = request_timeout_ms
        self._closing_by_ms: int | None = None
        self._closed = False
        self._running_callbacks = False
        self._dead: GroupFailed | None = None
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
        failure = self._dead or self._session.take_failure()
        if failure is not None:
            raise failure
        self._session.polled()
        self._call_handler()

    def topics_changed(self) -> None:
        """See ``Membership``."""
        self._session.topics_changed(self._view().partitions)

    def rejoin(self) -> None:
        """See ``Membership``."""
        self._session.receive(ev.RejoinTriggered(ev.JoinReason.ASKED))

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        before = self._closing_by_ms
        try:
            self._leave(self._deadline(self._clock.now_ms() + timeout_ms))
        finally:
            # Even if the handler raised: later calls have their full time again.
            self._closing_by_ms = before

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        try:
            self._leave(self._clock.now_ms() + timeout_ms)
        finally:
            self._closed = True
            self._threads.stop()
            with self._session.lock:
                for job in self._session.reads:
                    job.end(ConsumerClosed("the consumer was closed"))
                self._session.ended.extend(self._session.commits.abandon(self._clock.now_ms()))
            self.run_callbacks()

    def _leave(self, deadline_ms: int) -> None:
        session = self._session
        self._closing_by_ms = deadline_ms
        session.leave()
        grace_ms = _INTERRUPTED_LEAVE_TIMEOUT_MS
        try:
            self._then_flush(self._call_handler)
            grace_ms = _LEAVE_TIMEOUT_MS
        except Exception:
            grace_ms = _LEAVE_TIMEOUT_MS
            raise
        finally:
            if session.leave_group():
                leave_by_ms = min(deadline_ms, self._clock.now_ms() + grace_ms)
                self._wait(lambda: session.left, leave_by_ms)
            self.run_callbacks()

    # --- the handler --------------------------------------------------------------------

    def _call_handler(self) -> None:
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
                        session.called(call)
            finally:
                session.handling -= 1
        if failed is not None:
            raise failed

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

    def _flush(self) -> None:
        """Let pending commits end before the partitions go: afterwards they are refused."""
        session = self._session
        if session.location.address is not None:
            deadline_ms = self._deadline(self._clock.now_ms() + _FLUSH_MS)
            self._wait(lambda: not session.commits_wait, deadline_ms)

    # --- commits ------------------------------------------------------------------------

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        if not offsets:
            return
        job = self._add(offsets, self._clock.now_ms() + timeout_ms, None)
        self._wait(lambda: job.ended, job.deadline_ms)
        with self._session.lock:
            self._session.commits.give_up(job)
        self._session.settle()
        self.run_callbacks()
        if job.error is not None:
            raise job.error

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        self._add(offsets, self._clock.now_ms() + self._request_timeout_ms, done)

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``. Thread: any."""
        session, received = self._session, Mailbox[None]()
        deadline_ms = self._deadline(self._clock.now_ms() + timeout_ms)
        job = ReadJob(session.terms.group_id, partitions, on_end=lambda: received.put(None))
        if job.ended:
            return {}
        with session.lock:
            if self._closed:
                raise ConsumerClosed("the consumer was closed")
            session.reads.append(job)
        session.group_orders.put(None)
        try:
            self._wait(lambda: job.ended, deadline_ms, received)
        finally:
            with session.lock:
                session.reads.remove(job)
        if job.error is not None:
            raise job.error
        if job.left:
            raise job.timed_out()
        return job.found

    def _add(self, offsets: Offsets, deadline_ms: int, done: CommitDone | None) -> CommitJob:
        session = self._session
        with session.lock:
            job = CommitJob(
                session.terms.group_id,
                offsets,
                take_overs=session.claims.take_overs(offsets) if session.subscribed else None,
                deadline_ms=self._deadline(deadline_ms),
                done=done,
            )
            # A pending job has woken the thread already, and takes later ones along.
            wake = not session.commits.busy
            session.commits.add(job)
        if wake:
            session.group_orders.put(None)
        return job

    def run_callbacks(self) -> None:
        """See ``Membership``."""
        if self._running_callbacks:
            return
        self._running_callbacks = True
        try:
            while self._session.ended:
                job = self._session.ended.popleft()
                self._notify(job)
        finally:
            self._running_callbacks = False

    def _notify(self, job: CommitJob) -> None:
        if job.done is None:
            return
        try:
            job.done(job.offsets, job.error)
        except Exception:  # the caller's code
            log.exception("%s: the callback of a commit failed", self._session.name)

    # --- waiting ------------------------------------------------------------------------

    def _deadline(self, deadline_ms: int) -> int:
        """Return the earlier one of this deadline and that of a close under way."""
        if self._closing_by_ms is None:
            return deadline_ms
        return min(deadline_ms, self._closing_by_ms)

    def _wait(
        self, done: Callable[[], bool], deadline_ms: int, received: Mailbox[None] | None = None
    ) -> bool:
        """Wait for a result of the group thread; return whether it came."""
        received = self._session.responses if received is None else received
        while not done():
            left_ms = deadline_ms - self._clock.now_ms()
            if left_ms <= 0 or self._dead is not None or self._closed:
                return False
            received.get(min(left_ms, _MAX_SLEEP_MS))
        return True

    def _broken(self, error: BaseException) -> None:
        """Record that a thread of ours died: that is a bug, which every ``poll`` reports."""
        failure = GroupFailed(
            self._session.terms.group_id, f"the member broke down: {error!r}", final=True
        )
        failure.__cause__ = error
        self._dead = failure
        self._session.fail(failure)
        self._session.responses.put(None)
