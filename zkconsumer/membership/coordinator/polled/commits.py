"""Commits of the caller's thread, and lookups of what is committed; the group thread sends them."""

import logging
from collections.abc import Collection, Mapping

from zkconsumer.errors import ConsumerClosed
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.polled.waiting import CallerWaits
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.protocol import CommitDone, Offsets
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import WakeEvent

log = logging.getLogger(__name__)

_FLUSH_MS = 5_000
"""How long to wait for commits in flight before partitions are revoked, as brokers wait."""


class MemberCommits:
    """The commits of a member's caller. Thread: the caller's, but for ``committed``."""

    def __init__(self, session: MemberSession, waits: CallerWaits) -> None:
        self._session = session
        self._waits = waits
        self._running_callbacks = False

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        if not offsets:
            return
        job = self._add(offsets, timeout_ms, None)
        self._waits.wait(lambda: job.ended, job.deadline_ms)
        with self._session.lock:
            self._session.commits.give_up(job)
        self._session.settle()
        self.run_callbacks()
        if job.error is not None:
            raise job.error

    def commit_async(self, offsets: Offsets, done: CommitDone | None, *, timeout_ms: int) -> None:
        """See ``Membership``; it is given up after `timeout_ms`."""
        self._add(offsets, timeout_ms, done)

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``. Thread: any."""
        session, received = self._session, WakeEvent()
        deadline_ms = self._waits.deadline(timeout_ms)
        job = ReadJob(session.terms.group_id, partitions, on_end=received.notify)
        if job.ended:
            return {}
        with session.lock:
            if self._waits.is_closed:
                raise ConsumerClosed("the consumer was closed")
            session.reads.append(job)
        session.group_orders.put(None)
        try:
            self._waits.wait(lambda: job.ended, deadline_ms, received)
        finally:
            with session.lock:
                session.reads.remove(job)
        if job.error is not None:
            raise job.error
        if job.left:
            raise job.timed_out()
        return job.found

    def flush(self) -> None:
        """Let pending commits end before the partitions go: afterwards they are refused."""
        session = self._session
        if session.location.address is not None:
            self._waits.wait(lambda: not session.commits_wait, self._waits.deadline(_FLUSH_MS))

    def abandon(self) -> None:
        """End what is under way, when the member is closed, and run the callbacks."""
        session = self._session
        with session.lock:
            for job in session.reads:
                job.end(ConsumerClosed("the consumer was closed"))
            session.ended.extend(session.commits.abandon(session.clock.now_ms()))
        self.run_callbacks()

    def run_callbacks(self) -> None:
        """See ``Membership``."""
        if self._running_callbacks:
            return
        self._running_callbacks = True
        try:
            while self._session.ended:
                self._notify(self._session.ended.popleft())
        finally:
            self._running_callbacks = False

    def _notify(self, job: CommitJob) -> None:
        if job.done is None:
            return
        try:
            job.done(job.offsets, job.error)
        except Exception:  # the caller's code
            log.exception("%s: the callback of a commit failed", self._session.name)

    def _add(self, offsets: Offsets, timeout_ms: int, done: CommitDone | None) -> CommitJob:
        session = self._session
        deadline_ms = self._waits.deadline(timeout_ms)
        with session.lock:
            job = CommitJob(
                session.terms.group_id,
                offsets,
                take_overs=session.claims.take_overs(offsets) if session.subscribed else None,
                deadline_ms=deadline_ms,
                done=done,
            )
            # A pending job has woken the thread already, and takes later ones along.
            wake = not session.commits.busy
            session.commits.add(job)
        if wake:
            session.group_orders.put(None)
        return job
