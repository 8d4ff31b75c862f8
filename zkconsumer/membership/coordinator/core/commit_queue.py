"""The queue of commits: one request at a time, in order; queued jobs share a request. Pure.

Queued jobs are merged into one request with the latest position of each partition. The final
offsets are those that one request per job would have stored: an older one never overwrites a newer
one. Jobs end in the order in which they were queued.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from zkconsumer.backoff import Backoff
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import ZkConsumerError, without_frames
from zkconsumer.membership.coordinator.core.claims import Claims
from zkconsumer.membership.coordinator.core.commit_job import OVER, CommitJob
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import NOBODY, Signature
from zkconsumer.offsets.coordinator_state import is_retriable

_OF_POSITION = frozenset(
    {ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE}
)
"""Error codes about the offset to store, not about the member."""


class CommitBatch(NamedTuple):
    """The content of one commit request.

    Attributes:
        offsets: the latest position of each partition.
        jobs: the jobs whose remaining offsets it holds.
        signature: the identity under which it is sent.
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    jobs: tuple[CommitJob, ...]
    signature: Signature


class CommitQueue:
    """The queued commits of one consumer."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._jobs: deque[CommitJob] = deque()
        self._in_flight: CommitBatch | None = None
        self._sent: dict[TopicPartition, tuple[int, OffsetAndMetadata]] = {}
        self._in_doubt: set[TopicPartition] = set()
        self._count = 0
        self._failures = 0
        self._due_ms = 0

    @property
    def busy(self) -> bool:
        """Whether a commit is pending."""
        return any(not job.is_settled for job in self._jobs)

    def add(self, job: CommitJob) -> None:
        """Append a job."""
        self._count += 1
        job.number = self._count
        self._jobs.append(job)

    def touches(self, partitions: frozenset[TopicPartition]) -> bool:
        """Return whether a commit of one of these partitions is pending."""
        return any(not partitions.isdisjoint(job.left) for job in self._jobs if not job.is_settled)

    def next_due_ms(self) -> int | None:
        """Return when to check the queue again; None: only after the next event."""
        if self._in_flight is not None:
            return None
        open_ = [job.deadline_ms for job in self._jobs if not job.is_settled]
        return min(self._due_ms, *open_) if open_ else None

    def check(self, signature: Signature, claims: Claims) -> None:
        """Fail the jobs whose partitions are lost."""
        for job in self._open():
            sending = self._in_flight is not None and job in self._in_flight.jobs
            if job.take_overs is None or sending:
                continue
            gone = claims.gone(job.left, job.take_overs)
            if gone or signature.generation < 0:
                job.fail_as_lost(gone or sorted(job.left))

    def batch(self, signature: Signature, claims: Claims, now_ms: int) -> CommitBatch | None:
        """Return the batch to send now, or None."""
        if self._in_flight is not None:
            return None
        self._expire(now_ms)
        self.check(signature, claims)
        jobs = self._next_jobs()
        if not jobs or now_ms < self._due_ms:
            return None
        by_member = jobs[0].take_overs is not None
        self._in_flight = CommitBatch(self._latest(jobs), jobs, signature if by_member else NOBODY)
        return self._in_flight

    def _latest(self, jobs: tuple[CommitJob, ...]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the position to send for each partition.

        If a later position was sent already, and its job ended in doubt, it is sent again.
        """
        for job in jobs:
            for tp, position in job.left.items():
                sent = self._sent.get(tp)
                if sent is None or sent[0] <= job.number:
                    self._sent[tp] = job.number, position
        return {tp: self._sent[tp][1] for job in jobs for tp in job.left}

    def on_response(
        self, codes: Mapping[TopicPartition, int], current: Signature, now_ms: int
    ) -> None:
        """Process the response to the batch in flight.

        Args:
            codes: the error code of each partition.
            current: the member's current identity; if its generation is newer, a refusal
                concerns only the old one, and offsets of what is still ours are sent again.
            now_ms: the time.
        """
        batch = self._take()
        moved_on = -1 < batch.signature.generation < current.generation
        failed = False
        for tp in batch.offsets:
            code = codes.get(tp, int(ErrorCode.UNKNOWN))
            holders = [job for job in batch.jobs if tp in job.left]
            if is_retriable(code) or (moved_on and code in OVER):
                failed = True
                for job in holders:
                    job.on_postponed(explained(code))
            elif code == ErrorCode.NONE:
                self._in_doubt.discard(tp)
                for job in holders:
                    job.on_committed(tp)
            else:
                self._sent.pop(tp)
                # A bad position does not fail the jobs before it; but if a later one may have
                # been stored, theirs must not be.
                only_it = code in _OF_POSITION and tp not in self._in_doubt
                for job in holders:
                    if not only_it or job.left[tp] == batch.offsets[tp]:
                        job.on_refused(tp, code)
        self._pause(now_ms, failed=failed)

    def on_request_failed(self, reason: str, now_ms: int, *, sent: bool) -> None:
        """Postpone the batch in flight after a failure; ``sent``: it may have arrived."""
        batch = self._take()
        if sent:
            self._in_doubt.update(batch.offsets)
        for job in batch.jobs:
            job.on_postponed(reason, doubtful=sent)
        self._pause(now_ms, failed=True)

    def on_unsendable(self, error: ZkConsumerError) -> None:
        """Fail the batch in flight, which can't be sent at all."""
        for job in self._take().jobs:
            job.error = without_frames(error)

    def refuse(self, error: ZkConsumerError) -> None:
        """Fail all jobs: nothing can be sent, and waiting does not help."""
        for job in self._open():
            job.error = without_frames(error)

    def postpone_all(self, reason: str, now_ms: int) -> None:
        """Postpone all jobs: nothing can be sent at the moment."""
        for job in self._open():
            job.on_postponed(reason)
        self._pause(now_ms, failed=True)

    def give_up(self, job: CommitJob) -> None:
        """Fail a job that its caller no longer waits for."""
        if job.is_settled:
            return
        if self._in_flight is not None and job in self._in_flight.jobs:
            job.on_postponed("the coordinator has not responded yet", doubtful=True)
        job.expire()

    def on_coordinator_found(self) -> None:
        """Record that a coordinator was found, so that commits are sent without delay."""
        self._failures = 0
        self._due_ms = 0

    def ended(self, now_ms: int) -> list[CommitJob]:
        """Remove the settled jobs at the head and return them."""
        if self._in_flight is None:
            self._expire(now_ms)
        done: list[CommitJob] = []
        while self._jobs and self._jobs[0].is_settled:
            job = self._jobs.popleft()
            job.ended = True
            done.append(job)
        if not self._jobs:
            self._sent.clear()
            self._in_doubt.clear()
        return done

    def abandon(self, now_ms: int) -> list[CommitJob]:
        """Fail all jobs when closing; those in flight may or may not be stored."""
        for job in self._open():
            job.on_postponed("the consumer was closed")
            self.give_up(job)
        return self.ended(now_ms)

    def _open(self) -> Iterator[CommitJob]:
        return (job for job in self._jobs if not job.is_settled)

    def _next_jobs(self) -> tuple[CommitJob, ...]:
        """Return the leading open jobs that share an identity."""
        jobs: list[CommitJob] = []
        for job in self._open():
            if jobs and (job.take_overs is None) != (jobs[0].take_overs is None):
                break
            jobs.append(job)
        return tuple(jobs)

    def _take(self) -> CommitBatch:
        batch = self._in_flight
        assert batch is not None, "no commit is in flight"
        self._in_flight = None
        return batch

    def _expire(self, now_ms: int) -> None:
        for job in self._open():
            if now_ms >= job.deadline_ms:
                job.expire()

    def _pause(self, now_ms: int, *, failed: bool) -> None:
        if not failed:
            self.on_coordinator_found()
            return
        self._due_ms = now_ms + self._backoff.delay_ms(self._failures, 0.0)
        self._failures += 1
