"""Queues the caller's commits and reads of committed offsets, which the group thread sends."""

import logging
from collections import deque
from collections.abc import Collection, Mapping

from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.commit_queue import CommitQueue
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.orders import GroupOrders
from zkconsumer.membership.protocol import CommitDone, Offsets
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import WakeEvent

log = logging.getLogger(__name__)

_FLUSH_MS = 5_000
"""How long to wait for commits in flight before partitions are revoked: as long as brokers do."""


class OffsetJobs:
    """The commits and reads of a member that have not ended.

    Args:
        session: the member, whose identity and claims commits depend on.
        caller: waits for commits.
        orders: wakes the group thread.

    Attributes:
        lock: the session's, which protects ``commits``.
        commits: the queue of the commits.
    """

    def __init__(self, session: MemberSession, caller: Caller, orders: GroupOrders) -> None:
        self.session = session
        self.lock = session.lock
        self.commits = CommitQueue(session.terms.settings.backoff)
        self._reads: list[ReadJob] = []
        self._ended: deque[CommitJob] = deque()
        self._caller = caller
        self._orders = orders
        self._running_callbacks = False

    # --- in the caller's thread ---------------------------------------------------------

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        if not offsets:
            return
        job = self.commit_async(offsets, None, timeout_ms=timeout_ms)
        self._caller.wait(lambda: job.ended, job.deadline_ms)
        with self.lock:
            self.commits.give_up(job)
        self.settle()
        self.run_callbacks()
        if job.error is not None:
            raise job.error

    def commit_async(
        self, offsets: Offsets, done: CommitDone | None, *, timeout_ms: int
    ) -> CommitJob:
        """See ``Membership``; the commit is given up after ``timeout_ms``."""
        session = self.session
        deadline_ms = self._caller.deadline(timeout_ms)
        with self.lock:
            job = CommitJob(
                session.terms.group_id,
                offsets,
                take_overs=session.claims.take_overs(offsets) if session.is_subscribed else None,
                deadline_ms=deadline_ms,
                done=done,
            )
            # A pending job has already woken the thread, which sends later jobs along with it.
            wake = not self.commits.busy
            self.commits.add(job)
        if wake:
            self._orders.put(None)
        return job

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``. Thread: any."""
        received = WakeEvent()
        deadline_ms = self._caller.deadline(timeout_ms)
        job = ReadJob(self.session.terms.group_id, partitions, on_end=received.notify)
        if job.ended:
            return {}
        with self.lock:
            if self._caller.is_closed:
                raise ConsumerClosed("the consumer was closed")
            self._reads.append(job)
        self._orders.put(None)
        try:
            self._caller.wait(lambda: job.ended, deadline_ms, received)
        finally:
            with self.lock:
                self._reads.remove(job)
        if job.error is not None:
            raise job.error
        if job.left:
            raise job.timed_out()
        return job.found

    def flush(self) -> None:
        """Let pending commits end before the partitions are given up: later they are refused."""
        if self.session.location.address is not None:
            self._caller.wait(self._is_flushed, self._caller.deadline(_FLUSH_MS))

    def _is_flushed(self) -> bool:
        with self.lock:
            return not self.commits.busy

    def abandon(self) -> None:
        """End all pending commits and reads when the member is closed, and run the callbacks."""
        with self.lock:
            for job in self._reads:
                job.end(ConsumerClosed("the consumer was closed"))
            self._ended.extend(self.commits.abandon(self.session.clock.now_ms()))
        self.run_callbacks()

    def run_callbacks(self) -> None:
        """See ``Membership``."""
        if self._running_callbacks:
            return
        self._running_callbacks = True
        try:
            while self._ended:
                self._call_back(self._ended.popleft())
        finally:
            self._running_callbacks = False

    def _call_back(self, job: CommitJob) -> None:
        if job.done is None:
            return
        try:
            job.done(job.offsets, job.error)
        except Exception:  # the caller's code
            log.exception("%s: the callback of a commit failed", self.session.terms.name)

    # --- in the group thread ------------------------------------------------------------

    def next_due_ms(self) -> int | None:
        """Return when the next request is due; None: not before a job is added or ends."""
        with self.lock:
            dues = [self.commits.next_due_ms(), *(job.due_ms for job in self.open_reads())]
        return min((due_ms for due_ms in dues if due_ms is not None), default=None)

    def open_reads(self) -> list[ReadJob]:
        """Return the reads that need not wait for a commit of the same partitions."""
        with self.lock:
            touches = self.commits.touches
            return [job for job in self._reads if not job.ended and not touches(job.left)]

    def settle(self) -> None:
        """Remove commits that have ended from the queue, and wake their callers. Thread: any."""
        with self.lock:
            ended = self.commits.ended(self.session.clock.now_ms())
            self._ended.extend(ended)
        if ended:
            self._caller.responses.notify()
            self._caller.wake()
