"""Commits that are refused, that need a new coordinator lookup, or that a close cuts short."""

import pytest

from tests.support.coordinator_double import HERE, CoordinatorDouble
from tests.support.group_commits import ONE, RecordedCallback, at
from tests.support.group_members import MemberInTest, tps
from tests.support.waiting import wait_until
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    CommitFailed,
    CommitFailedError,
    ConsumerClosed,
    GroupAuthorizationFailedError,
    GroupFailed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    OffsetMetadataTooLargeError,
    TopicAuthorizationFailed,
    TopicAuthorizationFailedError,
)
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

ALL = tps("t", 0, 1, 2, 3)


@pytest.mark.parametrize(
    ("code", "error", "kafka_python_error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupFailed, GroupAuthorizationFailedError),
        (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            TopicAuthorizationFailed,
            TopicAuthorizationFailedError,
        ),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, OffsetCommitFailed, OffsetMetadataTooLargeError),
        (ErrorCode.ILLEGAL_GENERATION, CommitFailed, CommitFailedError),
        (ErrorCode.UNKNOWN_MEMBER_ID, CommitFailed, CommitFailedError),
    ],
)
def test_refusals_have_their_own_errors(
    broker: CoordinatorDouble,
    member: MemberInTest,
    code: ErrorCode,
    error: type[Exception],
    kafka_python_error: type[Exception],
) -> None:
    """Each is also kafka-python's error, and an asynchronous commit's callback gets the same."""
    broker.refuse(OffsetCommitRequest, code)
    with pytest.raises(error):
        member.member.commit(at(7), timeout_ms=5_000)
    member.poll_until("all", lambda: member.has == ALL)
    reported = RecordedCallback()
    broker.refuse(OffsetCommitRequest, code)
    member.member.commit_async(at(7), reported)
    member.poll_until("told", lambda: reported.calls)
    assert isinstance(reported.calls[0][1], error)
    assert isinstance(reported.calls[0][1], kafka_python_error)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupFailed),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, GroupFailed),
        (ErrorCode.INVALID_GROUP_ID, GroupFailed),
    ],
)
def test_offsets_that_may_not_be_read_are_an_error(
    broker: CoordinatorDouble, member: MemberInTest, code: ErrorCode, error: type[Exception]
) -> None:
    """None would say that nothing is committed."""
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        error = TopicAuthorizationFailed
    broker.refuse(OffsetFetchRequest, code)
    with pytest.raises(error):
        member.member.committed([ONE], timeout_ms=5_000)


def test_a_coordinator_lookup_that_is_denied_fails_at_once(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """A commit does not wait for a coordinator that it will never get."""
    broker.found = ErrorCode.GROUP_AUTHORIZATION_FAILED
    member = make(broker)
    with pytest.raises(GroupFailed, match="FindCoordinator"):
        member.member.commit(at(7), timeout_ms=60_000)
    with pytest.raises(GroupFailed, match="FindCoordinator"):
        member.member.committed([ONE], timeout_ms=60_000)


# --- without membership ------------------------------------------------------------------------


def test_a_consumer_with_assigned_partitions_commits_without_membership(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """It joins no group, and a group with members refuses its commits."""
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
    """It is even if nothing else needs it, and after the idle connection was closed."""
    alone = make(broker)
    alone.member.commit(at(7), timeout_ms=5_000)
    broker.break_connections()
    alone.member.commit(at(8), timeout_ms=5_000)
    broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.break_connections()
    alone.member.commit_async(at(9), None)
    searched = broker.searches
    wait_until(lambda: broker.searches > searched + 2, what="it looks for it")
    broker.found = HERE
    assert alone.member.committed([ONE], timeout_ms=5_000) == at(9)


# --- closing -----------------------------------------------------------------------------------


def test_close_finishes_asynchronous_commits(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """It runs their callbacks, too."""
    reported = RecordedCallback()
    for offset in range(1, 20):
        member.member.commit_async(at(offset), reported)
    member.close()
    assert reported.calls == [(offset, None) for offset in range(1, 20)]
    assert broker.offsets == at(19)


def test_close_settles_every_commit(broker: CoordinatorDouble, make: MakeMember) -> None:
    """Each callback gets an error, since none of them is known to be written."""
    member = make(broker, "t", request_timeout_ms=60_000)
    member.poll_until("all", lambda: member.has)
    broker.silent |= {OffsetCommitRequest}
    reported = RecordedCallback()
    for offset in range(1, 4):
        member.member.commit_async(at(offset), reported)
    started = SystemClock().now_ms()
    member.close(timeout_ms=200)
    assert SystemClock().now_ms() - started < 20_000
    assert [type(error) for _, error in reported.calls] == [OffsetCommitTimedOut] * 3


def test_close_ends_a_request_in_another_thread(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """No caller waits for a response that will not come."""
    broker.silent |= {OffsetFetchRequest}
    ended: list[Exception] = []

    def request() -> None:
        with pytest.raises(ConsumerClosed) as caught:
            member.member.committed([ONE], timeout_ms=60_000)
        ended.append(caught.value)

    scope = ThreadScope("asking")
    scope.spawn("thread", request, stop=lambda: None)
    wait_until(lambda: broker.attempts.get(OffsetFetchRequest), what="it asks")
    member.close(timeout_ms=200)
    assert scope.close(5_000) == []
    assert len(ended) == 1


def test_a_commit_of_a_lost_partition_fails_at_once(
    broker: CoordinatorDouble, member: MemberInTest
) -> None:
    """It does even while there is no coordinator."""
    broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.break_connections()
    started = SystemClock().now_ms()
    with pytest.raises(CommitFailed, match="u-0"):
        member.member.commit(at(7, TopicPartition("u", 0)), timeout_ms=60_000)
    assert SystemClock().now_ms() - started < 20_000


def test_a_lost_response_of_offset_fetch_costs_a_moment(
    broker: CoordinatorDouble, make: MakeMember
) -> None:
    """It does not cost the request time-out: a retry is sent after a tenth of it."""
    alone = make(broker, request_timeout_ms=30_000)
    alone.member.commit(at(7), timeout_ms=5_000)
    broker.silent |= {OffsetFetchRequest}

    def respond_again() -> None:
        wait_until(lambda: broker.attempts.get(OffsetFetchRequest), what="the first try")
        broker.silent.clear()

    scope = ThreadScope("answering")
    scope.spawn("again", respond_again, stop=lambda: None)
    began_ms = SystemClock().now_ms()
    assert alone.member.committed([ONE], timeout_ms=60_000) == at(7)
    assert SystemClock().now_ms() - began_ms < 15_000
    assert scope.close(5_000) == []
