"""What the caller of a commit is told: by which error, and in which words."""

import pytest

from zkconsumer.error_codes import ErrorCode, error_name, explained
from zkconsumer.errors import (
    CommitFailed,
    GroupFailed,
    OffsetCommitFailed,
    OffsetCommitTimedOut,
    RebalanceInProgress,
    TopicAuthorizationFailed,
    ZkConsumerError,
)
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.model import OffsetAndMetadata, TopicPartition

T0, T1, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("other", 0)


def job_of(*partitions: TopicPartition, by_member: bool = True) -> CommitJob:
    """A commit of these partitions."""
    offsets = {tp: OffsetAndMetadata(5) for tp in partitions}
    take_overs = dict.fromkeys(partitions, 1) if by_member else None
    return CommitJob("g", offsets, take_overs=take_overs, deadline_ms=1_000)


def refused(codes: dict[TopicPartition, int], *, by_member: bool = True) -> ZkConsumerError:
    """The error of a commit that was answered with these codes."""
    job = job_of(*codes, by_member=by_member)
    for tp, code in codes.items():
        if code:
            job.on_refused(tp, code)
        else:
            job.on_committed(tp)
    assert job.is_settled
    assert job.error is not None
    return job.error


def test_a_commit_is_settled_with_its_last_partition() -> None:
    """Not before; and an answer for another commit's partition changes nothing."""
    job = job_of(T0, T1)
    job.on_committed(T0)
    job.on_committed(OTHER)
    job.on_refused(OTHER, ErrorCode.UNKNOWN)
    assert (job.is_settled, list(job.left)) == (False, [T1])
    job.on_committed(T1)
    assert (job.is_settled, job.error) == (True, None)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID],
)
def test_a_member_that_was_removed_is_told_what_helps(code: ErrorCode) -> None:
    """To poll, and which settings make it quicker."""
    error = refused({T0: int(code), T1: 0})
    assert isinstance(error, CommitFailed)
    assert str(error).startswith(f"group g: the commit came too late ({code.text}): others may")
    assert "max.poll.interval.ms" in str(error)


def test_a_consumer_that_is_no_member_is_told_that_the_group_has_some() -> None:
    """It is not too late: it never was a member, and needs another group."""
    error = refused({T0: int(ErrorCode.UNKNOWN_MEMBER_ID)}, by_member=False)
    assert isinstance(error, CommitFailed)
    assert str(error).startswith("group g: not committed, since the group has members")
    assert "subscribe() instead of assign()" in str(error)


def test_other_refusals_of_a_consumer_that_is_no_member() -> None:
    """They are what they are for a member."""
    error = refused({T0: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, by_member=False)
    assert isinstance(error, OffsetCommitFailed)


def test_a_rebalance_is_told_as_one() -> None:
    """What is still the member's can be committed after a poll."""
    error = refused({T0: int(ErrorCode.REBALANCE_IN_PROGRESS)})
    assert isinstance(error, RebalanceInProgress)
    assert str(error).startswith("group g: not committed, the group is rebalancing: poll")


def test_a_refused_group_is_told_with_the_code() -> None:
    """No partition is named: it is not about them."""
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    error = refused({T0: int(code), T1: int(code)})
    assert isinstance(error, GroupFailed)
    assert str(error) == f"group g: OffsetCommit was refused: {code.text}"
    assert (error.group_id, error.code) == ("g", code)


def test_refused_topics_are_told_as_such_where_nothing_was_stored() -> None:
    """Where a part was stored, it is said which part was not, and why."""
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    error = refused({T0: int(code), OTHER: int(code)})
    assert isinstance(error, TopicAuthorizationFailed)
    assert error.topics == {"t", "other"}
    partly = refused({T0: int(code), OTHER: 0})
    assert isinstance(partly, OffsetCommitFailed)
    assert (partly.failed, partly.code) == ({T0: explained(code)}, None)


def test_other_refusals_are_told_by_partition() -> None:
    """With the code where all have the same, and none otherwise."""
    large, unknown = ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.UNKNOWN
    error = refused({T0: int(large), T1: int(large)})
    assert isinstance(error, OffsetCommitFailed)
    assert (error.failed, error.code) == (dict.fromkeys((T0, T1), explained(large)), large)
    assert str(error).startswith("group g: offsets not committed for ")
    mixed = refused({T0: int(large), T1: int(unknown)})
    assert isinstance(mixed, OffsetCommitFailed)
    assert (mixed.failed, mixed.code) == ({T0: explained(large), T1: explained(unknown)}, None)


def test_a_commit_that_is_out_of_time_tells_of_each_partition() -> None:
    """Those that were refused, with the code; the rest, with the last reason, and any doubt."""
    job = job_of(T0, T1, OTHER)
    job.on_committed(OTHER)
    job.on_refused(T0, ErrorCode.OFFSET_METADATA_TOO_LARGE)
    job.on_postponed("no coordinator")
    job.on_postponed("it broke", doubtful=True)
    job.on_postponed("it loads")
    job.expire()
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert str(job.error).startswith("group g: ")
    assert job.error.failed == {
        T0: error_name(ErrorCode.OFFSET_METADATA_TOO_LARGE),
        T1: "not confirmed in time: it loads, and it is not known whether it is stored",
    }


def test_a_commit_that_nobody_sent_is_not_in_doubt() -> None:
    """It is not stored, and that is known."""
    job = job_of(T0)
    job.expire()
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert job.error.failed == {T0: "not confirmed in time: it was not sent in time"}


def test_a_commit_of_lost_partitions_names_them() -> None:
    """Others may have them now; a poll tells which."""
    job = job_of(T0, T1, OTHER)
    job.fail_as_lost([T0, OTHER])
    assert isinstance(job.error, CommitFailed)
    assert str(job.error).startswith(
        "group g: not committed, since this member no longer owns t-0, other-0: "
    )
    assert job.is_settled
