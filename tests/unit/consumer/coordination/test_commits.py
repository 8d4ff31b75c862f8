"""Commits of a member, through its threads, to a coordinator without a network."""

import threading
from dataclasses import replace

import pytest

from tests.support.coordinator_double import HERE, OF_0_9, CoordinatorDouble
from tests.support.group_members import QUICK, MemberInTest, poll_until, tps
from tests.support.waiting import wait_until
from tests.unit.consumer.coordination.conftest import MakeMember
from zkconsumer.clock import SystemClock
from zkconsumer.consumer.membership import Offsets, Why
from zkconsumer.errors import (
    CommitFailed,
    ConsumerClosed,
    GroupFailed,
    OffsetCommitFailed,
    RebalanceInProgress,
    RequestTimedOut,
    TopicAuthorizationFailed,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

ALL = tps("t", 0, 1, 2, 3)
ONE = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def at(offset: int, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
    """The same position for each of these, or for one."""
    return {tp: OffsetAndMetadata(offset, "note", 3) for tp in partitions or (ONE,)}


@pytest.fixture
def member(broker: CoordinatorDouble, make: MakeMember) -> MemberInTest:
    """One that has all partitions."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    return member


class Told:
    """A callback that notes what it is told, and in which thread."""

    def __init__(self) -> None:
        self.notes: list[tuple[int, Exception | None]] = []
        self.threads: set[int] = set()

    def __call__(self, offsets: Offsets, error: Exception | None) -> None:
        """See ``CommitDone``."""
        self.threads.add(threading.get_ident())
        self.notes.append((next(iter(offsets.values())).offset, error))


# --- what goes well ----------------------------------------------------------------------------


def test_a_commit_is_read_back(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """With its text and its leader epoch; what was never committed is None."""
    member.member.commit(at(7), timeout_ms=5_000)
    assert broker.offsets == at(7)
    found = member.member.committed([ONE, OTHER], timeout_ms=5_000)
    assert found == {**at(7), OTHER: None}


def test_brokers_of_0_9_keep_no_leader_epochs(make: MakeMember) -> None:
    """The position is stored without."""
    broker = CoordinatorDouble({"t": 4}, versions=OF_0_9)
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    member.member.commit(at(7), timeout_ms=5_000)
    assert member.member.committed([ONE], timeout_ms=5_000) == {ONE: OffsetAndMetadata(7, "note")}


def test_nothing_to_commit_and_nothing_to_read(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """Nobody is asked."""
    member.member.commit({}, timeout_ms=0)
    assert member.member.committed([], timeout_ms=0) == {}
    assert not broker.kinds(OffsetCommitRequest)


def test_callbacks_run_in_order_and_in_the_callers_thread(member: MemberInTest) -> None:
    """All before the next synchronous commit returns."""
    told = Told()
    for offset in range(1, 200):
        member.member.commit_async(at(offset), told)
    member.member.commit(at(1_000), timeout_ms=5_000)
    assert told.notes == [(offset, None) for offset in range(1, 200)]
    assert told.threads == {threading.get_ident()}


def test_what_waits_goes_out_together(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """One request a commit would be slower than the work."""
    told = Told()
    broker.silent |= {HeartbeatRequest}
    beats = broker.attempts.get(HeartbeatRequest, 0)
    wait_until(lambda: broker.attempts.get(HeartbeatRequest, 0) > beats, what="the line is busy")
    for offset in range(1, 1_000):
        member.member.commit_async(at(offset, ONE if offset % 2 else OTHER), told)
    broker.silent.clear()
    broker.break_lines()
    member.poll_until("all are done", lambda: len(told.notes) == 999)
    assert broker.offsets == {**at(999), **at(998, OTHER)}
    assert len(broker.kinds(OffsetCommitRequest)) < 100
    assert all(error is None for _, error in told.notes)


def test_a_callback_that_raises_is_logged(
    member: MemberInTest, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are told all the same."""
    told = Told()

    def fail(_offsets: Offsets, _error: Exception | None) -> None:
        raise ValueError("the caller's own")

    member.member.commit_async(at(1), fail)
    member.member.commit_async(at(2), told)
    member.member.commit(at(3), timeout_ms=5_000)
    assert told.notes == [(2, None)]
    assert "callback of a commit failed" in caplog.text


def test_a_callback_may_commit_again(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """And the next callback is not run inside of it."""
    told = Told()
    inside: list[int] = []

    def again(_offsets: Offsets, _error: Exception | None) -> None:
        member.member.commit(at(6), timeout_ms=5_000)
        inside.append(len(told.notes))

    member.member.commit_async(at(4), again)
    member.member.commit_async(at(5), told)
    member.poll_until("both", lambda: told.notes)
    assert (inside, told.notes) == ([0], [(5, None)])
    assert broker.offsets == at(6)


# --- what passes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
)
def test_what_passes_is_tried_again(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode
) -> None:
    """Within the time; the caller hears nothing of it."""
    broker.refuse(OffsetCommitRequest, code, code, code)
    member.member.commit(at(7), timeout_ms=5_000)
    assert broker.offsets == at(7)
    broker.refuse(OffsetFetchRequest, code, code, code)
    assert member.member.committed([ONE], timeout_ms=5_000) == at(7)
    member.poll_until("all", lambda: member.has == ALL)
    assert member.member.counts.lost == 0


@pytest.mark.parametrize(
    "code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
)
def test_what_does_not_pass_in_time_is_no_commit(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode
) -> None:
    """The error names the partition and the last reason."""
    broker.refuse(OffsetCommitRequest, *[code] * 1_000)
    with pytest.raises(OffsetCommitFailed, match=r"t-0.*no success in time.*COORDINATOR"):
        member.member.commit(at(7), timeout_ms=100)
    broker.refuse(OffsetFetchRequest, *[code] * 1_000)
    with pytest.raises(RequestTimedOut, match="COORDINATOR"):
        member.member.committed([ONE], timeout_ms=100)


def test_a_connection_that_breaks_under_a_commit(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """It is sent again, to wherever the coordinator is."""
    broker.silent |= {OffsetCommitRequest}
    told = Told()
    member.member.commit_async(at(7), told)
    wait_until(lambda: broker.attempts.get(OffsetCommitRequest), what="it is sent")
    broker.silent.clear()
    broker.break_lines()
    member.poll_until("done", lambda: told.notes)
    assert told.notes == [(7, None)]
    assert broker.offsets == at(7)


def test_a_commit_without_an_answer_is_in_doubt(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The caller gets control back in time and is told that nobody knows."""
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has == ALL)
    broker.silent |= {OffsetCommitRequest}
    started = SystemClock().now_ms()
    with pytest.raises(OffsetCommitFailed, match="not known whether"):
        member.member.commit(at(7), timeout_ms=200)
    assert SystemClock().now_ms() - started < 1_500
    assert broker.offsets == {}


def test_positions_wait_for_open_transactions(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """KIP-447: the stable position is asked for, until it is there."""
    broker.refuse(OffsetFetchRequest, *[ErrorCode.UNSTABLE_OFFSET_COMMIT] * 3)
    assert member.member.committed([ONE], timeout_ms=5_000) == {ONE: None}
    assert [one.require_stable for one in broker.kinds(OffsetFetchRequest)] == [True] * 4


# --- what is refused ---------------------------------------------------------------------------


def test_who_was_thrown_out_commits_nothing(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """Before it hears of it, by the coordinator; afterwards, by itself."""
    broker.throw_out(member.member.member_id)
    with pytest.raises(CommitFailed, match="Poll"):
        member.member.commit(at(7), timeout_ms=5_000)
    asked = len(broker.kinds(OffsetCommitRequest))
    with pytest.raises(CommitFailed, match="t-0 is not this member's now"):
        member.member.commit(at(7), timeout_ms=5_000)
    assert (broker.offsets, len(broker.kinds(OffsetCommitRequest))) == ({}, asked)


def test_nothing_is_committed_for_others(broker: CoordinatorDouble, make: MakeMember) -> None:
    """Neither what another member has, nor anything in the handler of a loss."""
    first, second = make(broker, "t", name="first"), make(broker, "t", name="second")
    poll_until("both have half", lambda: len(first.has) == len(second.has) == 2, first, second)
    theirs = next(iter(second.has))
    with pytest.raises(CommitFailed, match=str(theirs)):
        first.member.commit(at(7, *first.has, theirs), timeout_ms=5_000)
    assert broker.offsets == {}
    errors: list[Exception] = []

    def commit(partitions: frozenset[TopicPartition], why: Why) -> None:
        if why is Why.LOST:
            with pytest.raises(CommitFailed) as caught:
                first.member.commit(at(8, *partitions), timeout_ms=5_000)
            errors.append(caught.value)

    first.handler.on_give_up = commit
    broker.throw_out(first.member.member_id)
    poll_until("the loss is heard", lambda: errors, first, second)
    assert broker.offsets == {}


def test_a_commit_from_before_a_loss_does_not_go_out_after_it(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """Although the partition came back in the meantime: others may have gone on from there."""
    told = Told()
    broker.refuse(OffsetCommitRequest, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
    member.member.commit_async(at(7), told)
    wait_until(lambda: broker.kinds(OffsetCommitRequest), what="it is tried")
    broker.throw_out(member.member.member_id)
    member.poll_until("all again", lambda: ("lost", ALL) in member.handler.notes and member.has)
    broker.codes.clear()
    member.poll_until("it is refused", lambda: told.notes)
    assert isinstance(told.notes[0][1], CommitFailed)
    assert broker.offsets == {}


def test_a_commit_of_what_stays_survives_a_rebalance(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A cooperative member goes out under its new generation where the old one was refused."""
    member = make(broker, "t", settings=replace(QUICK, strategies=("cooperative-sticky",)))
    member.poll_until("all", lambda: member.has == ALL)
    told = Told()
    broker.refuse(OffsetCommitRequest, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
    member.member.commit_async(at(7), told)
    generation = member.member.generation
    member.member.rejoin()
    member.poll_until("a new generation", lambda: member.member.generation > generation)
    broker.codes.clear()
    member.poll_until("done", lambda: told.notes)
    assert told.notes == [(7, None)]
    assert broker.offsets == at(7)


def test_between_two_generations(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """The coordinator wants the rebalance over first."""
    broker.refuse(OffsetCommitRequest, ErrorCode.REBALANCE_IN_PROGRESS)
    with pytest.raises(RebalanceInProgress):
        member.member.commit(at(7), timeout_ms=5_000)
    generation = member.member.generation
    member.poll_until("it joins again", lambda: member.member.generation > generation)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupFailed),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailed),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, OffsetCommitFailed),
        (ErrorCode.ILLEGAL_GENERATION, CommitFailed),
        (ErrorCode.UNKNOWN_MEMBER_ID, CommitFailed),
    ],
)
def test_refusals_have_their_own_errors(
    broker: CoordinatorDouble,
    member: MemberInTest,
    code: ErrorCode,
    error: type[Exception],
) -> None:
    """And the callback of an asynchronous commit gets the same."""
    broker.refuse(OffsetCommitRequest, code)
    with pytest.raises(error):
        member.member.commit(at(7), timeout_ms=5_000)
    member.poll_until("all", lambda: member.has == ALL)
    told = Told()
    broker.refuse(OffsetCommitRequest, code)
    member.member.commit_async(at(7), told)
    member.poll_until("told", lambda: told.notes)
    assert type(told.notes[0][1]) is error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupFailed),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, GroupFailed),
        (ErrorCode.INVALID_GROUP_ID, GroupFailed),
    ],
)
def test_positions_that_may_not_be_read(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode, error: type[Exception]
) -> None:
    """There is no None where something may be committed."""
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        error = TopicAuthorizationFailed
    broker.refuse(OffsetFetchRequest, code)
    with pytest.raises(error):
        member.member.committed([ONE], timeout_ms=5_000)


def test_a_group_that_may_not_be_looked_for(broker: CoordinatorDouble, make: MakeMember) -> None:
    """A commit does not wait for what will not come."""
    broker.found = ErrorCode.GROUP_AUTHORIZATION_FAILED
    member = make(broker)
    with pytest.raises(GroupFailed, match="FindCoordinator"):
        member.member.commit(at(7), timeout_ms=60_000)
    with pytest.raises(GroupFailed, match="FindCoordinator"):
        member.member.committed([ONE], timeout_ms=60_000)


# --- without membership ------------------------------------------------------------------------


def test_who_assigns_partitions_to_itself_commits_as_nobody(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """No group is joined for it; a group that has members refuses."""
    alone = make(broker)
    alone.member.commit(at(7), timeout_ms=5_000)
    assert alone.member.committed([ONE], timeout_ms=5_000) == at(7)
    assert (broker.kinds(OffsetCommitRequest)[0].generation_id, broker.group.members) == (-1, {})
    member = make(broker, "t", name="real")
    member.poll_until("all", lambda: member.has == ALL)
    with pytest.raises(CommitFailed, match="the group has members"):
        alone.member.commit(at(8), timeout_ms=5_000)
    assert broker.offsets == at(7)


def test_the_coordinator_is_found_again_for_a_commit(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Also where nothing else asks for it, and the connection was idle for too long."""
    alone = make(broker)
    alone.member.commit(at(7), timeout_ms=5_000)
    broker.break_lines()
    alone.member.commit(at(8), timeout_ms=5_000)
    broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.break_lines()
    alone.member.commit_async(at(9), None)
    searched = broker.searches
    wait_until(lambda: broker.searches > searched + 2, what="it looks for it")
    broker.found = HERE
    assert alone.member.committed([ONE], timeout_ms=5_000) == at(9)


# --- closing -----------------------------------------------------------------------------------


def test_close_finishes_what_was_asked_for(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """And runs the callbacks."""
    told = Told()
    for offset in range(1, 20):
        member.member.commit_async(at(offset), told)
    member.close()
    assert told.notes == [(offset, None) for offset in range(1, 20)]
    assert broker.offsets == at(19)


def test_close_says_of_every_commit_what_became_of_it(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """None is left without a word, and none is said to be done."""
    broker.silent |= {OffsetCommitRequest}
    told = Told()
    for offset in range(1, 4):
        member.member.commit_async(at(offset), told)
    started = SystemClock().now_ms()
    member.close(timeout_ms=200)
    assert SystemClock().now_ms() - started < 1_500
    assert [type(error) for _, error in told.notes] == [OffsetCommitFailed] * 3


def test_close_ends_a_question_in_another_thread(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """Nobody waits for an answer that will not come."""
    broker.silent |= {OffsetFetchRequest}
    ended: list[Exception] = []

    def ask() -> None:
        with pytest.raises(ConsumerClosed) as caught:
            member.member.committed([ONE], timeout_ms=60_000)
        ended.append(caught.value)

    scope = ThreadScope("asking")
    scope.spawn("thread", ask, stop=lambda: None)
    wait_until(lambda: broker.attempts.get(OffsetFetchRequest), what="it asks")
    member.close(timeout_ms=200)
    assert scope.close(5_000) == []
    assert len(ended) == 1


def test_what_is_lost_is_refused_at_once(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """Also where there is no coordinator that could be asked."""
    broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.break_lines()
    started = SystemClock().now_ms()
    with pytest.raises(CommitFailed, match="u-0"):
        member.member.commit(at(7, TopicPartition("u", 0)), timeout_ms=20_000)
    assert SystemClock().now_ms() - started < 5_000
