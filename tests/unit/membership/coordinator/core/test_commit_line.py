"""The line of commits against a model: what is stored, what is said, and in which order."""

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


class LineOfCommits(RuleBasedStateMachine):
    """Jobs come, time passes, partitions go and come back, the coordinator does as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.line = CommitQueue(Backoff(10, 40, jitter=0.0))
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
    def me(self) -> Signature:
        """The member as it is now."""
        return Signature("m", self.generation)

    @rule(
        partitions=st.sets(st.sampled_from(TPS), min_size=1), time_ms=st.sampled_from([50, LONG_MS])
    )
    def add(self, partitions: set[TopicPartition], time_ms: int) -> None:
        """A commit, later than all before."""
        self.count += 1
        job = CommitJob(
            "g",
            {tp: OffsetAndMetadata(self.count) for tp in partitions},
            take_overs=self.claims.take_overs(partitions),
            deadline_ms=self.now_ms + time_ms,
        )
        self.line.add(job)
        self.jobs.append(job)

    @rule(ms=st.integers(0, 100))
    def wait(self, ms: int) -> None:
        """Time passes."""
        self.now_ms += ms

    @precondition(lambda self: self.batch is None)
    @rule()
    def send(self) -> None:
        """The thread looks."""
        self.batch = self.line.batch(self.me, self.claims, self.now_ms)

    @precondition(lambda self: self.batch is not None)
    @rule(code=st.sampled_from([ErrorCode.NONE, *WRONG]), unsupported=st.sampled_from(TPS))
    def response(self, code: ErrorCode, unsupported: TopicPartition) -> None:
        """The coordinator answers; one partition may have an answer of its own."""
        assert self.batch is not None
        codes = {tp: int(code) if tp == unsupported else 0 for tp in self.batch.offsets}
        self._store(codes)
        self.line.on_response(codes, self.me, self.now_ms)
        self.batch = None

    @precondition(lambda self: self.batch is not None)
    @rule(stored=st.booleans())
    def break_(self, *, stored: bool) -> None:
        """The connection breaks, before or after it did it."""
        assert self.batch is not None
        if stored:
            self._store(dict.fromkeys(self.batch.offsets, 0))
        self.line.on_request_failed("it broke", self.now_ms, sent=True)
        self.batch = None

    @rule(tp=st.sampled_from(TPS))
    def lose_and_take(self, tp: TopicPartition) -> None:
        """A partition goes and comes back, in another generation."""
        self.generation += 1
        self.claims.drop([tp])
        self.claims.take([tp])

    @rule()
    def rebalance(self) -> None:
        """A new generation in which all stays."""
        self.generation += 1

    @rule()
    def collect(self) -> None:
        """The caller hears of what is done."""
        self.ended += self.line.ended(self.now_ms)

    def _store(self, codes: dict[TopicPartition, int]) -> None:
        assert self.batch is not None
        for tp, position in self.batch.offsets.items():
            if codes[tp] == 0:
                self.stored[tp].append(position.offset)

    @invariant()
    def nothing_goes_back(self) -> None:
        """Positions came in ascending order: an older one never overwrites a newer one."""
        for offsets in self.stored.values():
            assert offsets == sorted(offsets)

    @invariant()
    def all_end_in_their_order(self) -> None:
        """None is passed over."""
        assert self.ended == self.jobs[: len(self.ended)]
        assert all(job.is_settled for job in self.ended)

    @invariant()
    def what_is_said_to_be_done_is(self) -> None:
        """Its position is stored, or one that came after it."""
        for job in self.jobs:
            if job.is_settled and job.error is None:
                for tp, position in job.offsets.items():
                    assert any(offset >= position.offset for offset in self.stored[tp])

    @invariant()
    def what_was_lost_is_not_sent(self) -> None:
        """What is in flight was ours at that time, and is sent under the name of that time."""
        if self.batch is not None:
            assert self.batch.signature.generation <= self.generation
            assert self.batch.offsets.keys() <= set(TPS)

    def teardown(self) -> None:
        """In the end everybody gets an answer."""
        if self.batch is not None:
            self.line.on_request_failed("it broke", self.now_ms, sent=True)
        self.now_ms += 2 * LONG_MS
        self.ended += self.line.ended(self.now_ms)
        assert self.ended == self.jobs
        assert self.line.next_due_ms() is None


TestLineOfCommits = LineOfCommits.TestCase
TestLineOfCommits.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.sampled_from(TPS), min_size=1, max_size=10))
def test_a_lost_partition_takes_its_commits_with_it(order: list[TopicPartition]) -> None:
    """Those before the loss; those after it go out."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    jobs = []
    for number, tp in enumerate(order):
        offsets = {tp: OffsetAndMetadata(number)}
        jobs.append(
            CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000)
        )
        line.add(jobs[-1])
    lost = order[0]
    claims.drop([lost])
    claims.take([lost])
    late = CommitJob(
        "g", {lost: OffsetAndMetadata(99)}, take_overs=claims.take_overs([lost]), deadline_ms=1_000
    )
    line.add(late)
    batch = line.batch(Signature("m", 1), claims, 0)
    assert batch is not None
    assert batch.offsets[lost].offset == 99
    assert [job.error is not None for job in jobs] == [tp == lost for tp in order]


def test_a_job_in_flight_whose_caller_is_gone_is_in_doubt() -> None:
    """Its late answer changes nothing any more."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    job = CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100)
    line.add(job)
    line.batch(Signature("m", 1), claims, 0)
    line.give_up(job)
    assert isinstance(job.error, OffsetCommitFailed)
    assert "not known" in str(job.error)
    line.on_response({TPS[0]: 0}, Signature("m", 1), 200)
    assert isinstance(job.error, OffsetCommitFailed)
    assert line.ended(200) == [job]


def test_an_answer_that_leaves_a_partition_out_is_no_commit() -> None:
    """Nobody said that it is stored."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {tp: OffsetAndMetadata(1) for tp in TPS[:2]}
    job = CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100)
    line.add(job)
    line.batch(Signature("m", 1), claims, 0)
    line.on_response({TPS[0]: 0}, Signature("m", 1), 0)
    assert isinstance(job.error, OffsetCommitFailed)
    assert job.error.failed.keys() == {TPS[1]}


@pytest.mark.parametrize("refused", TPS[:2])
def test_a_commit_fails_if_any_of_its_partitions_is_refused(refused: TopicPartition) -> None:
    """In whichever order they are answered: what is stored of the others does not hide it."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {tp: OffsetAndMetadata(1) for tp in TPS[:2]}
    line.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100))
    line.batch(Signature("m", 1), claims, 0)
    codes = dict.fromkeys(offsets, 0) | {refused: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}
    line.on_response(codes, Signature("m", 1), 0)
    (job,) = line.ended(0)
    assert isinstance(job.error, OffsetCommitFailed)
    assert job.error.failed.keys() == {refused}


@pytest.mark.parametrize(("sent", "doubt"), [(True, True), (False, False)])
def test_a_commit_that_fails_in_time_says_why(*, sent: bool, doubt: bool) -> None:
    """It names the last failure, and the doubt only where the coordinator may have stored it."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    line.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=100))
    line.batch(Signature("m", 1), claims, 0)
    line.on_request_failed("the connection broke", 0, sent=sent)
    (job,) = line.ended(100)
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert "not confirmed in time: the connection broke" in job.error.failed[TPS[0]]
    assert ("not known whether it is stored" in job.error.failed[TPS[0]]) is doubt


def test_a_position_in_doubt_is_not_overwritten_by_an_older_one() -> None:
    """The later job's time is over, the older one's is not: the later position goes out again."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    jobs = []
    for number, deadline_ms in ((1, 1_000), (2, 50)):
        offsets = {TPS[0]: OffsetAndMetadata(number)}
        job = CommitJob(
            "g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=deadline_ms
        )
        jobs.append(job)
        line.add(job)
    assert line.batch(Signature("m", 1), claims, 0) is not None
    line.on_request_failed("it broke", 0, sent=True)
    again = line.batch(Signature("m", 1), claims, 100)
    assert again is not None
    assert (again.jobs, again.offsets) == ((jobs[0],), {TPS[0]: OffsetAndMetadata(2)})
    line.on_response({TPS[0]: 0}, Signature("m", 1), 100)
    assert [job.error is None for job in line.ended(100)] == [True, False]


def test_a_refusal_of_an_old_generation_says_nothing_of_the_new_one() -> None:
    """The group rebalanced while the commit was under way, and its partition stayed."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    offsets = {TPS[0]: OffsetAndMetadata(1)}
    line.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    line.batch(Signature("m", 1), claims, 0)
    line.on_response({TPS[0]: int(ErrorCode.ILLEGAL_GENERATION)}, Signature("m", 2), 0)
    again = line.batch(Signature("m", 2), claims, 500)
    assert again is not None
    assert again.signature.generation == 2
    line.on_response({TPS[0]: int(ErrorCode.ILLEGAL_GENERATION)}, Signature("m", -1), 500)
    assert [type(job.error) for job in line.ended(500)] == [CommitFailed]


def test_metadata_that_is_too_large_fails_its_own_commit_only() -> None:
    """The ones that went out with it are stored."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    good, bad = (OffsetAndMetadata(1), OffsetAndMetadata(2, "x" * 5_000))
    for position in (good, bad):
        offsets = {TPS[0]: position}
        line.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    line.batch(Signature("m", 1), claims, 0)
    line.on_response({TPS[0]: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, Signature("m", 1), 0)
    again = line.batch(Signature("m", 1), claims, 0)
    assert again is not None
    assert again.offsets == {TPS[0]: good}
    line.on_response({TPS[0]: 0}, Signature("m", 1), 0)
    first, second = line.ended(0)
    assert first.error is None
    assert isinstance(second.error, OffsetCommitFailed)
    assert isinstance(second.error, OffsetMetadataTooLargeError)


def test_what_may_be_stored_already_is_not_overwritten_after_a_refusal() -> None:
    """The coordinator that took it without an answer has a successor that takes less metadata."""
    line, claims = CommitQueue(Backoff(10, 40)), Claims()
    claims.take(TPS)
    for number in (1, 2):
        offsets = {TPS[0]: OffsetAndMetadata(number, "x" * number)}
        line.add(CommitJob("g", offsets, take_overs=claims.take_overs(offsets), deadline_ms=1_000))
    line.batch(Signature("m", 1), claims, 0)
    line.on_request_failed("it broke", 0, sent=True)
    assert line.batch(Signature("m", 1), claims, 100) is not None
    line.on_response({TPS[0]: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, Signature("m", 1), 100)
    assert line.batch(Signature("m", 1), claims, 100) is None
    assert all(isinstance(job.error, OffsetCommitFailed) for job in line.ended(100))
