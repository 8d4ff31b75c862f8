"""Commits of a member, through its threads, to a coordinator without a network."""

import threading
from dataclasses import replace

import pytest

from tests.support.coordinator_double import OF_0_9, CoordinatorDouble
from tests.support.group_commits import ONE, OTHER, RecordedCallback, at
from tests.support.group_members import QUICK, MemberInTest, poll_until, tps
from tests.support.waiting import wait_until
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    CommitFailed,
    OffsetCommitFailed,
    RebalanceInProgress,
    RequestTimedOut,
)
from zkconsumer.membership.protocol import Offsets, RevocationKind
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

ALL = tps("t", 0, 1, 2, 3)


# --- commits that succeed ----------------------------------------------------------------------


def test_a_commit_is_read_back(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """It is with its metadata and leader epoch; what was never committed is None."""
    member.member.commit(at(7), timeout_ms=5_000)
    assert broker.offsets == at(7)
    found = member.member.committed([ONE, OTHER], timeout_ms=5_000)
    assert found == {**at(7), OTHER: None}


def test_brokers_of_0_9_keep_no_leader_epochs(make: MakeMember) -> None:
    """The offset and its metadata are stored without one."""
    broker = CoordinatorDouble({"t": 4}, versions=OF_0_9)
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == ALL)
    member.member.commit(at(7), timeout_ms=5_000)
    assert member.member.committed([ONE], timeout_ms=5_000) == {ONE: OffsetAndMetadata(7, "note")}


def test_empty_calls_send_no_request(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """Neither an empty commit nor an empty lookup does."""
    member.member.commit({}, timeout_ms=0)
    assert member.member.committed([], timeout_ms=0) == {}
    assert not broker.kinds(OffsetCommitRequest)


def test_callbacks_run_in_order_and_in_the_callers_thread(member: MemberInTest) -> None:
    """All of them run before the next synchronous commit returns."""
    reported = RecordedCallback()
    for offset in range(1, 200):
        member.member.commit_async(at(offset), reported)
    member.member.commit(at(1_000), timeout_ms=5_000)
    assert reported.calls == [(offset, None) for offset in range(1, 200)]
    assert reported.threads == {threading.get_ident()}


def test_waiting_commits_are_sent_together(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """One request for each commit could not keep up."""
    reported = RecordedCallback()
    broker.silent |= {HeartbeatRequest}
    beats = broker.attempts.get(HeartbeatRequest, 0)
    wait_until(lambda: broker.attempts.get(HeartbeatRequest, 0) > beats, what="the line is busy")
    for offset in range(1, 1_000):
        member.member.commit_async(at(offset, ONE if offset % 2 else OTHER), reported)
    broker.silent.clear()
    broker.break_connections()
    member.poll_until("all are done", lambda: len(reported.calls) == 999)
    assert broker.offsets == {**at(999), **at(998, OTHER)}
    assert len(broker.kinds(OffsetCommitRequest)) < 100
    assert all(error is None for _, error in reported.calls)


def test_a_callback_that_raises_is_logged(
    member: MemberInTest, caplog: pytest.LogCaptureFixture
) -> None:
    """The other callbacks run nevertheless."""
    reported = RecordedCallback()

    def fail(_offsets: Offsets, _error: Exception | None) -> None:
        raise ValueError("the caller's own")

    member.member.commit_async(at(1), fail)
    member.member.commit_async(at(2), reported)
    member.member.commit(at(3), timeout_ms=5_000)
    assert reported.calls == [(2, None)]
    assert "callback of a commit failed" in caplog.text


def test_a_callback_may_commit_again(broker: CoordinatorDouble, member: MemberInTest) -> None:
    """The next callback does not run inside that commit."""
    reported = RecordedCallback()
    inside: list[int] = []

    def again(_offsets: Offsets, _error: Exception | None) -> None:
        member.member.commit(at(6), timeout_ms=5_000)
        inside.append(len(reported.calls))

    member.member.commit_async(at(4), again)
    member.member.commit_async(at(5), reported)
    member.poll_until("both", lambda: reported.calls)
    assert (inside, reported.calls) == ([0], [(5, None)])
    assert broker.offsets == at(6)


# --- failures that pass ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
)
def test_a_retriable_error_is_retried(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode
) -> None:
    """It is within the time-out, and the caller gets no error."""
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
def test_a_retriable_error_that_lasts_is_raised(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode
) -> None:
    """The error names the partition and the last reason."""
    broker.refuse(OffsetCommitRequest, *[code] * 1_000)
    with pytest.raises(OffsetCommitFailed, match=r"t-0.*not confirmed in time.*COORDINATOR"):
        member.member.commit(at(7), timeout_ms=100)
    broker.refuse(OffsetFetchRequest, *[code] * 1_000)
    with pytest.raises(RequestTimedOut, match="COORDINATOR"):
        member.member.committed([ONE], timeout_ms=100)


def test_a_commit_is_sent_again_after_its_connection_broke(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """It is sent again, to the current coordinator."""
    broker.silent |= {OffsetCommitRequest}
    reported = RecordedCallback()
    member.member.commit_async(at(7), reported)
    wait_until(lambda: broker.attempts.get(OffsetCommitRequest), what="it is sent")
    broker.silent.clear()
    broker.break_connections()
    member.poll_until("done", lambda: reported.calls)
    assert reported.calls == [(7, None)]
    assert broker.offsets == at(7)


def test_a_commit_without_a_response_is_in_doubt(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """The caller gets control back in time, with an error that says so."""
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has == ALL)
    broker.silent |= {OffsetCommitRequest}
    started = SystemClock().now_ms()
    with pytest.raises(OffsetCommitFailed, match="not known whether"):
        member.member.commit(at(7), timeout_ms=200)
    assert SystemClock().now_ms() - started < 20_000
    assert broker.offsets == {}


def test_committed_offsets_wait_for_open_transactions(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """KIP-447: the stable offset is requested again until there is one."""
    broker.refuse(OffsetFetchRequest, *[ErrorCode.UNSTABLE_OFFSET_COMMIT] * 3)
    assert member.member.committed([ONE], timeout_ms=5_000) == {ONE: None}
    assert [request.require_stable for request in broker.kinds(OffsetFetchRequest)] == [True] * 4


# --- commits that are refused ------------------------------------------------------------------


def test_a_member_that_was_removed_commits_nothing(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """The coordinator refuses it at first; once the member knows, it sends no request."""
    broker.remove_member(member.member.member_id)
    with pytest.raises(CommitFailed, match="Poll"):
        member.member.commit(at(7), timeout_ms=5_000)
    requested = len(broker.kinds(OffsetCommitRequest))
    with pytest.raises(CommitFailed, match="this member no longer owns t-0"):
        member.member.commit(at(7), timeout_ms=5_000)
    assert (broker.offsets, len(broker.kinds(OffsetCommitRequest))) == ({}, requested)


def test_partitions_of_others_are_not_committed(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """Neither another member's are, nor lost ones in the handler of the loss."""
    first, second = make(broker, "t", name="first"), make(broker, "t", name="second")
    poll_until("both have half", lambda: len(first.has) == len(second.has) == 2, first, second)
    theirs = next(iter(second.has))
    with pytest.raises(CommitFailed, match=f"{theirs}"):
        first.member.commit(at(7, *first.has, theirs), timeout_ms=5_000)
    assert broker.offsets == {}
    errors: list[Exception] = []

    def commit(partitions: frozenset[TopicPartition], why: RevocationKind) -> None:
        if why is RevocationKind.LOST:
            with pytest.raises(CommitFailed) as caught:
                first.member.commit(at(8, *partitions), timeout_ms=5_000)
            errors.append(caught.value)

    first.handler.on_give_up = commit
    broker.remove_member(first.member.member_id)
    poll_until("the loss is heard", lambda: errors, first, second)
    assert broker.offsets == {}


def test_a_commit_from_before_a_loss_is_not_sent_after_it(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """It is not even if the partition came back: another owner may have read on meanwhile."""
    reported = RecordedCallback()
    broker.refuse(OffsetCommitRequest, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
    member.member.commit_async(at(7), reported)
    wait_until(lambda: broker.kinds(OffsetCommitRequest), what="it is tried")
    broker.remove_member(member.member.member_id)
    member.poll_until("all again", lambda: ("lost", ALL) in member.handler.calls and member.has)
    broker.codes.clear()
    member.poll_until("it is refused", lambda: reported.calls)
    assert isinstance(reported.calls[0][1], CommitFailed)
    assert broker.offsets == {}


def test_a_commit_of_a_kept_partition_survives_a_rebalance(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A cooperative member sends it again in the new generation after the old one's refusal."""
    member = make(broker, "t", settings=replace(QUICK, strategies=("cooperative-sticky",)))
    member.poll_until("all", lambda: member.has == ALL)
    reported = RecordedCallback()
    broker.refuse(OffsetCommitRequest, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
    member.member.commit_async(at(7), reported)
    generation = member.member.generation
    member.member.rejoin()
    member.poll_until("a new generation", lambda: member.member.generation > generation)
    broker.codes.clear()
    member.poll_until("done", lambda: reported.calls)
    assert reported.calls == [(7, None)]
    assert broker.offsets == at(7)


def test_a_commit_during_a_rebalance_is_refused(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """The coordinator accepts it only once the rebalance is over."""
    broker.refuse(OffsetCommitRequest, ErrorCode.REBALANCE_IN_PROGRESS)
    with pytest.raises(RebalanceInProgress):
        member.member.commit(at(7), timeout_ms=5_000)
    generation = member.member.generation
    member.poll_until("it joins again", lambda: member.member.generation > generation)
