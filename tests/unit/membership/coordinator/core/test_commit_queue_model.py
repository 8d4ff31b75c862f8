"""The commit queue against a model: what is stored, what is reported, and in which order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from zkconsumer.backoff import Backoff
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    CommitFailed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    OffsetMetadataTooLargeError,
)
from zkconsumer.membership.coordinator.core.claims import Claims
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.commit_queue import CommitBatch, CommitQueue
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import Signature

TPS = [TopicPartition("t", number) for number in range(3)]
WRONG = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
]
LONG_MS = 10_000


class CommitQueueModel(RuleBasedStateMachine):
    """Jobs are added, time passes, partitions come and go, the coordinator does as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = CommitQueue(Backoff(10, 40, jitter=0.0))
        self.claims = Claims()
        self.claims.take(TPS)
        self.generation = 1
        self.now_ms = 0
        self.count = 0
        self.batch: CommitBatch | None = None
        self.stored: dict[TopicPartition, list[int]] = {tp: [] for tp in TPS}
        self.jobs: list[CommitJob] = []
        self.ended: list[CommitJob] = []

    @property
    def signature(self) -> Signature:
        """The member's present signature."""
        return Signature("m", self.generation)

    @rule(
        partitions=st.sets(st.sampled_from(TPS), min_size=1), time_ms=st.sampled_from([50, LONG_MS])
    )
    def add(self, partitions: set[TopicPartition], time_ms: int) -> None:
        """Add a commit with a higher offset than all before."""
        self.count += 1
        job = CommitJob(
            "g",
            {tp: OffsetAndMetadata(self.count) for tp in partitions},
            take_overs=self.claims.take_overs(partitions),
            deadline_ms=self.now_ms + time_ms,
        )
        self.queue.add(job)
        self.jobs.append(job)

    @rule(ms=st.integers(0, 100))
    def wait(self, ms: int) -> None:
        """Let time pass."""
        self.now_ms += ms

    @precondition(lambda self: self.batch is None)
    @rule()
    def send(self) -> None:
        """Let the thread send what is due."""
        self.batch = self.queue.batch(self.signature, self.claims, self.now_ms)

    @precondition(lambda self: self.batch is not None)
    @rule(code=st.sampled_from([ErrorCode.NONE, *WRONG]), unsupported=st.sampled_from(TPS))
    def response(self, code: ErrorCode, unsupported: TopicPartition) -> None:
        """Let the coordinator respond; one partition may have another code than the rest."""
        assert self.batch is not None
        codes = {tp: int(code) if tp == unsupported else 0 for tp in self.batch.offsets}
        self._store(codes)
        self.queue.on_response(codes, self.signature, self.now_ms)
        self.batch = None

    @precondition(lambda self: self.batch is not None)
    @rule(stored=st.booleans())
    def lose_connection(self, *, stored: bool) -> None:
        """Break the connection, before or after the coordinator has stored the offsets."""
        assert self.batch is not None
        if stored:
            self._store(dict.fromkeys(self.batch.offsets, 0))
        self.queue.on_request_failed("it broke", self.now_ms, sent=True)
        self.batch = None

    @rule(tp=st.sampled_from(TPS))
    def lose_and_take(self, tp: TopicPartition) -> None:
        """Lose a partition, and take it over again in another generation."""
        self.generation += 1
        self.claims.drop([tp])
        self.claims.take([tp])

    @rule()
    def rebalance(self) -> None:
        """Begin a new generation with the same assignment."""
        self.generation += 1

    @rule()
    def collect(self) -> None:
        """Let the caller take the jobs that have ended."""
        self.ended += self.queue.ended(self.now_ms)

    def _store(self, codes: dict[TopicPartition, int]) -> None:
        assert self.batch is not None
        for tp, position in self.batch.offsets.items():
            if codes[tp] == 0:
                self.stored[tp].append(position.offset)

    @invariant()
    def no_offset_goes_back(self) -> None:
        """Offsets were added in ascending order: an older one never overwrites a newer one."""
        for offsets in self.stored.values():
            assert offsets == sorted(offsets)

    @invariant()
    def all_end_in_order(self) -> None:
        """No job ends before an earlier one."""
        assert self.ended == self.jobs[: len(self.ended)]
        assert all(job.is_settled for job in self.ended)

    @invariant()
    def a_successful_commit_is_stored(self) -> None:
        """A successful job's offset, or one that was added later, is stored."""
        for job in self.jobs:
            if job.is_settled and job.error is None:
                for tp, position in job.offsets.items():
                    assert any(offset >= position.offset for offset in self.stored[tp])

    @invariant()
    def a_lost_partition_is_not_sent(self) -> None:
        """An offset in flight was ours when it was sent, and has the signature of that time."""
        if self.batch is not None:
            assert self.batch.signature.generation <= self.generation
            assert self.batch.offsets.keys() <= set(TPS)

    def teardown(self) -> None:
        """In the end every job has a result."""
        if self.batch is not None:
            self.queue.on_request_failed("it broke", self.now_ms, sent=True)
        self.now_ms += 2 * LONG_MS
        self.ended += self.queue.ended(self.now_ms)
        assert self.ended == self.jobs
        assert self.queue.next_due_ms() is None


TestCommitQueueModel = CommitQueueModel.TestCase
TestCommitQueueModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.sampled_from(TPS), min_size=1, max_size=10))
def test_losing_a_partition_fails_its_commits(order: list[TopicPartition]) -> None:
    """Its earlier commits fail; one that was added after it was taken over again is sent."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    jobs = []
    for number, tp in enumerate(order):
        offsets = {tp: OffsetAndMetadata(number)}
        jobs.append(
            CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000)
        )
        queue.add(jobs[-1])
    lost = order[0]
    claims.drop([lost])
    claims.take([lost])
    late = CommitJob(
        "g", {lost: OffsetAndMetadata(99)}, take_overs=claims.take_overs([lost]), deadline_ms=1_000
    )
    queue.add(late)
    batch = queue.batch(Signature("m", 1), claims, 0)
    assert batch is not None
    assert batch.offsets[lost].offset == 99
    assert [job.error is not None for job in jobs] == [tp == lost for tp in order]


def test_a_job_in_flight_that_its_caller_gave_up_is_in_doubt() -> None:
    """A late response no longer changes the job's error."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    job = CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100)
    queue.add(job)
    queue.batch(Signature("m", 1), claims, 0)
    queue.give_up(job)
    assert isinstance(job.error, OffsetCommitFailed)
    assert "not known" in str(job.error)
    queue.on_response({TPS[0]: 0}, Signature("m", 1), 200)
    assert isinstance(job.error, OffsetCommitFailed)
    assert queue.ended(200) == [job]


def test_a_partition_missing_from_the_response_is_not_committed() -> None:
    """Nothing confirms that the missing partition's offset was stored."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {tp: OffsetAndMetadata(1) for tp in TPS[:2]}
    job = CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100)
    queue.add(job)
    queue.batch(Signature("m", 1), claims, 0)
    queue.on_response({TPS[0]: 0}, Signature("m", 1), 0)
    assert isinstance(job.error, OffsetCommitFailed)
    assert job.error.failed.keys() == {TPS[1]}


@pytest.mark.parametrize("refused", TPS[:2])
def test_a_commit_fails_if_any_of_its_partitions_is_refused(refused: TopicPartition) -> None:
    """In whatever order the partitions come, one that is stored does not hide the refusal."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {tp: OffsetAndMetadata(1) for tp in TPS[:2]}
    queue.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100))
    queue.batch(Signature("m", 1), claims, 0)
    codes = dict.fromkeys(offsets, 0) | {refused: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}
    queue.on_response(codes, Signature("m", 1), 0)
    (job,) = queue.ended(0)
    assert isinstance(job.error, OffsetCommitFailed)
    assert job.error.failed.keys() == {refused}


@pytest.mark.parametrize(("sent", "doubt"), [(True, True), (False, False)])
def test_the_error_of_a_commit_that_timed_out_has_the_reason(*, sent: bool, doubt: bool) -> None:
    """It has the last failure, and mentions doubt only if the coordinator may have stored it."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    queue.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100))
    queue.batch(Signature("m", 1), claims, 0)
    queue.on_request_failed("the connection broke", 0, sent=sent)
    (job,) = queue.ended(100)
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert "not confirmed in time: the connection broke" in job.error.failed[TPS[0]]
    assert ("not known whether it is stored" in job.error.failed[TPS[0]]) is doubt


def test_a_position_in_doubt_is_not_overwritten_by_an_older_one() -> None:
    """The later job has timed out, the older one has not: the later offset is sent again."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    jobs = []
    for number, deadline_ms in ((1, 1_000), (2, 50)):
        offsets = {TPS[0]: OffsetAndMetadata(number)}
        job = CommitJob(
            "g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=deadline_ms
        )
        jobs.append(job)
        queue.add(job)
    assert queue.batch(Signature("m", 1), claims, 0) is not None
    queue.on_request_failed("it broke", 0, sent=True)
    again = queue.batch(Signature("m", 1), claims, 100)
    assert again is not None
    assert (again.jobs, again.offsets) == ((jobs[0],), {TPS[0]: OffsetAndMetadata(2)})
    queue.on_response({TPS[0]: 0}, Signature("m", 1), 100)
    assert [job.error is None for job in queue.ended(100)] == [True, False]


def test_a_refusal_of_an_old_generation_is_retried_in_the_new_one() -> None:
    """The group rebalanced while the commit was in flight, and its partition stayed."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    queue.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    queue.batch(Signature("m", 1), claims, 0)
    queue.on_response({TPS[0]: int(ErrorCode.ILLEGAL_GENERATION)}, Signature("m", 2), 0)
    again = queue.batch(Signature("m", 2), claims, 500)
    assert again is not None
    assert again.signature.generation == 2
    queue.on_response({TPS[0]: int(ErrorCode.ILLEGAL_GENERATION)}, Signature("m", -1), 500)
    assert [type(job.error) for job in queue.ended(500)] == [CommitFailed]


def test_metadata_that_is_too_large_fails_its_own_commit_only() -> None:
    """Commits that were sent in the same request are stored."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    good, bad = (OffsetAndMetadata(1), OffsetAndMetadata(2, "x" * 5_000))
    for position in (good, bad):
        offsets = {TPS[0]: position}
        queue.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    queue.batch(Signature("m", 1), claims, 0)
    queue.on_response({TPS[0]: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, Signature("m", 1), 0)
    again = queue.batch(Signature("m", 1), claims, 0)
    assert again is not None
    assert again.offsets == {TPS[0]: good}
    queue.on_response({TPS[0]: 0}, Signature("m", 1), 0)
    first, second = queue.ended(0)
    assert first.error is None
    assert isinstance(second.error, OffsetCommitFailed)
    assert isinstance(second.error, OffsetMetadataTooLargeError)


def test_an_offset_in_doubt_is_not_overwritten_after_a_refusal() -> None:
    """The first coordinator may have stored it; its successor accepts less metadata."""
    queue, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    for number in (1, 2):
        offsets = {TPS[0]: OffsetAndMetadata(number, "x" * number)}
        queue.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    queue.batch(Signature("m", 1), claims, 0)
    queue.on_request_failed("it broke", 0, sent=True)
    assert queue.batch(Signature("m", 1), claims, 100) is not None
    queue.on_response({TPS[0]: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, Signature("m", 1), 100)
    assert queue.batch(Signature("m", 1), claims, 100) is None
    assert all(isinstance(job.error, OffsetCommitFailed) for job in queue.ended(100))
