"""The commit queue by example: when a commit is due, what is pending, and how jobs end."""

import pytest

from zkconsumer.backoff import Backoff
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import ConsumerClosed, OffsetCommitTimedOut
from zkconsumer.membership.coordinator.core.claims import Claims, TakeOvers
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.commit_queue import CommitBatch, CommitQueue
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import NOBODY, Signature

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ME = Signature("m", 0)
POSITION = OffsetAndMetadata(5)
DEADLINE_MS = 1_000


class Queued:
    """The queue of a member that owns two partitions, in generation 0."""

    def __init__(self) -> None:
        self.queue = CommitQueue(Backoff(10, 40, jitter=0.0))
        self.claims = Claims()
        self.claims.take([T0, T1])

    def add(
        self,
        *partitions: TopicPartition,
        position: OffsetAndMetadata = POSITION,
        deadline_ms: int = DEADLINE_MS,
    ) -> CommitJob:
        """Queue a commit as the member."""
        take_overs = self.claims.take_overs(partitions)
        return self._added(partitions, position, take_overs, deadline_ms)

    def add_as_non_member(self, *partitions: TopicPartition) -> CommitJob:
        """Queue a commit of a consumer that is no member of the group."""
        return self._added(partitions, POSITION, None, DEADLINE_MS)

    def _added(
        self,
        partitions: tuple[TopicPartition, ...],
        position: OffsetAndMetadata,
        take_overs: TakeOvers | None,
        deadline_ms: int,
    ) -> CommitJob:
        offsets = dict.fromkeys(partitions, position)
        job = CommitJob("g", offsets, take_overs=take_overs, deadline_ms=deadline_ms)
        self.queue.add(job)
        return job

    def batch(self, now_ms: int = 0) -> CommitBatch | None:
        """Return what is sent at that time."""
        return self.queue.batch(ME, self.claims, now_ms)


@pytest.fixture
def queued() -> Queued:
    """An empty queue."""
    return Queued()


def test_an_empty_queue_waits_for_the_next_commit(queued: Queued) -> None:
    """No commit is due, and none is pending."""
    assert (queued.queue.next_due_ms(), queued.queue.busy) == (None, False)
    assert not queued.queue.touches(frozenset({T0}))
    assert queued.batch() is None


def test_a_commit_is_due_at_once_and_pending_until_it_is_settled(queued: Queued) -> None:
    """While it is in flight nothing else is due, until its response or a failure."""
    queued.add(T0)
    assert (queued.queue.next_due_ms(), queued.queue.busy) == (0, True)
    assert queued.queue.touches(frozenset({T0, T1}))
    assert not queued.queue.touches(frozenset({T1}))
    assert queued.batch() is not None
    assert (queued.queue.next_due_ms(), queued.queue.busy, queued.batch()) == (None, True, None)
    queued.queue.on_response({T0: 0}, ME, 0)
    assert (queued.queue.next_due_ms(), queued.queue.busy) == (None, False)
    assert not queued.queue.touches(frozenset({T0}))


def test_the_pauses_after_failures_grow_and_end_with_a_success(queued: Queued) -> None:
    """The next attempt is due after the pause, or at an earlier deadline, and never too early."""
    queued.add(T0)
    now_ms = 0
    for pause_ms in (10, 20, 40, 40):
        assert queued.batch(now_ms) is not None
        queued.queue.on_request_failed("it broke", now_ms, sent=True)
        assert queued.queue.next_due_ms() == now_ms + pause_ms
        assert queued.batch(now_ms + pause_ms - 1) is None
        now_ms += pause_ms
    assert queued.batch(now_ms) is not None
    queued.queue.on_response({T0: 0}, ME, now_ms)
    queued.add(T1)
    assert queued.batch(now_ms) is not None
    queued.queue.on_request_failed("it broke", now_ms, sent=True)
    assert queued.queue.next_due_ms() == now_ms + 10
    queued.add(T0, deadline_ms=now_ms + 3)
    assert queued.queue.next_due_ms() == now_ms + 3


def test_a_retriable_response_is_followed_by_a_pause(queued: Queued) -> None:
    """If it never succeeds, the caller's error has that response's code."""
    job = queued.add(T0)
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert queued.batch() is not None
    queued.queue.on_response({T0: int(code)}, ME, 0)
    assert (queued.queue.next_due_ms(), job.is_settled) == (10, False)
    assert queued.queue.ended(DEADLINE_MS - 1) == []
    assert queued.queue.ended(DEADLINE_MS) == [job]
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert job.error.failed == {T0: f"not confirmed in time: {explained(code)}"}


def test_a_coordinator_that_was_found_gets_the_commits_at_once(queued: Queued) -> None:
    """The pause was for the lookup of the previous coordinator."""
    queued.add(T0)
    queued.queue.postpone_all("no coordinator", 0)
    queued.queue.postpone_all("no coordinator", 0)
    assert queued.queue.next_due_ms() == 20
    queued.queue.on_coordinator_found()
    assert queued.queue.next_due_ms() == 0
    queued.queue.postpone_all("no coordinator", 0)
    assert queued.queue.next_due_ms() == 10


def test_without_a_coordinator_all_jobs_wait_and_fail_with_the_reason(queued: Queued) -> None:
    """None is in doubt, since nothing was sent."""
    jobs = [queued.add(T0), queued.add(T1)]
    queued.queue.postpone_all("no broker answers", 5)
    assert queued.queue.next_due_ms() == 15
    assert queued.queue.ended(DEADLINE_MS) == jobs
    for job in jobs:
        assert isinstance(job.error, OffsetCommitTimedOut)
        assert list(job.error.failed.values()) == ["not confirmed in time: no broker answers"]


def test_a_fatal_refusal_fails_all_jobs(queued: Queued) -> None:
    """They fail with that error; settled jobs keep their result."""
    done, failed = queued.add(T0), queued.add(T1)
    done.on_committed(T0)
    error = ConsumerClosed("it may not")
    queued.queue.refuse(error)
    assert (done.error, failed.error) == (None, error)
    assert queued.queue.ended(0) == [done, failed]


def test_a_request_that_cannot_be_sent_fails_the_jobs_of_its_batch(queued: Queued) -> None:
    """A job that was added later is not part of the batch, and is sent."""
    first = queued.add(T0)
    assert queued.batch() is not None
    later = queued.add(T1)
    error = ConsumerClosed("this version has no place for it")
    queued.queue.on_unsendable(error)
    assert (first.error, later.error) == (error, None)
    batch = queued.batch()
    assert batch is not None
    assert batch.jobs == (later,)


def test_a_close_fails_pending_jobs_and_says_which_are_in_doubt(queued: Queued) -> None:
    """A job in flight may be stored; one that was not sent is not."""
    sent = queued.add(T0)
    assert queued.batch() is not None
    unsent = queued.add(T1)
    assert queued.queue.abandon(0) == [sent, unsent]
    assert isinstance(sent.error, OffsetCommitTimedOut)
    assert isinstance(unsent.error, OffsetCommitTimedOut)
    assert "not known whether it is stored" in sent.error.failed[T0]
    assert unsent.error.failed == {T1: "not confirmed in time: the consumer was closed"}


def test_commits_of_a_member_and_of_a_non_member_are_separate_requests(queued: Queued) -> None:
    """The first is sent with the member's signature, the second with none, in order of arrival."""
    mine, others = queued.add(T0), queued.add_as_non_member(T1)
    batch = queued.batch()
    assert batch is not None
    assert (batch.jobs, batch.signature) == ((mine,), ME)
    queued.queue.on_response({T0: 0}, ME, 0)
    batch = queued.batch()
    assert batch is not None
    assert (batch.jobs, batch.signature) == ((others,), NOBODY)


def test_revoked_partitions_fail_only_their_own_jobs(queued: Queued) -> None:
    """This includes jobs queued after a non-member's job, and after a job in flight."""
    sent = queued.add(T0)
    assert queued.batch() is not None
    others, lost, kept = queued.add_as_non_member(T0), queued.add(T0), queued.add(T1)
    queued.claims.drop([T0, TopicPartition("never", 0)])
    queued.queue.check(ME, queued.claims)
    assert [job.error is not None for job in (sent, others, lost, kept)] == [
        False,
        False,
        True,
        False,
    ]
    assert "this member no longer owns t-0" in str(lost.error)


def test_a_member_without_a_generation_commits_nothing(queued: Queued) -> None:
    """The error names the partitions; the job of a non-member stays in the queue."""
    job, others = queued.add(T1, T0), queued.add_as_non_member(T0)
    queued.queue.check(Signature("m", -1), queued.claims)
    assert "this member no longer owns t-0, t-1" in str(job.error)
    assert others.error is None


def test_a_partition_that_returns_after_a_loss_is_a_new_take_over(queued: Queued) -> None:
    """An offset from before the loss is not committed; one from after the take-over is."""
    before = queued.add(T0)
    queued.claims.void()
    queued.claims.take([T0])
    after = queued.add(T0)
    batch = queued.batch()
    assert batch is not None
    assert (batch.jobs, before.is_settled, after.is_settled) == ((after,), True, False)


def test_a_refusal_of_the_present_generation_is_final(queued: Queued) -> None:
    """Only a refusal of an older generation is retried."""
    job = queued.add(T0)
    assert queued.batch() is not None
    queued.queue.on_response({T0: int(ErrorCode.ILLEGAL_GENERATION)}, ME, 0)
    assert queued.queue.ended(0) == [job]
    again = queued.add(T0)
    assert queued.batch() is not None
    newer = Signature("m", 1)
    queued.queue.on_response({T0: int(ErrorCode.ILLEGAL_GENERATION)}, newer, 0)
    assert (queued.queue.ended(0), again.error) == ([], None)
    assert queued.queue.next_due_ms() == 10


def test_doubt_ends_when_an_offset_is_stored(queued: Queued) -> None:
    """After that, metadata that is too large fails its own job only."""
    queued.add(T0)
    assert queued.batch() is not None
    queued.queue.on_request_failed("it broke", 0, sent=True)
    assert queued.batch(100) is not None
    waiting = queued.add(T1)
    queued.queue.on_response({T0: 0}, ME, 100)
    good = queued.add(T0, position=OffsetAndMetadata(6))
    bad = queued.add(T0, position=OffsetAndMetadata(7, "x" * 5_000))
    assert queued.batch(100) is not None
    codes = {T0: int(ErrorCode.OFFSET_METADATA_TOO_LARGE), T1: 0}
    queued.queue.on_response(codes, ME, 100)
    assert (waiting.error, good.error, bad.error is not None) == (None, None, True)
