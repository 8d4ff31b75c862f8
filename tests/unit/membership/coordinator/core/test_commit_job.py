"""The error, and its message, that the caller of a commit gets."""

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
    """Return a commit of these partitions."""
    offsets = {tp: OffsetAndMetadata(5) for tp in partitions}
    take_overs = dict.fromkeys(partitions, 1) if by_member else None
    return CommitJob("g", offsets, take_overs=take_overs, deadline_ms=1_000)


def refused(codes: dict[TopicPartition, int], *, by_member: bool = True) -> ZkConsumerError:
    """Return the error of a commit whose response has these codes."""
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
    """It is not settled earlier, and responses about partitions of other commits are ignored."""
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
def test_the_error_of_a_removed_member_names_the_settings_to_change(code: ErrorCode) -> None:
    """The message says to poll, and which settings make polls more frequent."""
    error = refused({T0: int(code), T1: 0})
    assert isinstance(error, CommitFailed)
    assert str(error).startswith(f"group g: the commit came too late ({code.text}): others may")
    assert "max.poll.interval.ms" in str(error)


def test_the_error_of_a_non_member_says_that_the_group_has_members() -> None:
    """Its commit is not late: it never was a member, and needs another group."""
    error = refused({T0: int(ErrorCode.UNKNOWN_MEMBER_ID)}, by_member=False)
    assert isinstance(error, CommitFailed)
    assert str(error).startswith("group g: not committed, since the group has members")
    assert "subscribe() instead of assign()" in str(error)


def test_other_refusals_of_a_non_member_are_those_of_a_member() -> None:
    """Any other error code leads to the same error as a member gets."""
    error = refused({T0: int(ErrorCode.OFFSET_METADATA_TOO_LARGE)}, by_member=False)
    assert isinstance(error, OffsetCommitFailed)


def test_a_commit_during_a_rebalance_raises_rebalance_in_progress() -> None:
    """After a poll, the partitions that the member still owns can be committed."""
    error = refused({T0: int(ErrorCode.REBALANCE_IN_PROGRESS)})
    assert isinstance(error, RebalanceInProgress)
    assert str(error).startswith("group g: not committed, the group is rebalancing: poll")


def test_the_error_of_a_refused_group_has_the_code() -> None:
    """No partition is named, since the refusal concerns the group."""
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    error = refused({T0: int(code), T1: int(code)})
    assert isinstance(error, GroupFailed)
    assert str(error) == f"group g: OffsetCommit was refused: {code.text}"
    assert (error.group_id, error.code) == ("g", code)


def test_refused_topics_are_an_authorization_error_if_nothing_was_stored() -> None:
    """If other partitions were stored, the error names those that were not, and why."""
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    error = refused({T0: int(code), OTHER: int(code)})
    assert isinstance(error, TopicAuthorizationFailed)
    assert error.topics == {"t", "other"}
    partly = refused({T0: int(code), OTHER: 0})
    assert isinstance(partly, OffsetCommitFailed)
    assert (partly.failed, partly.code) == ({T0: explained(code)}, None)


def test_other_refusals_are_listed_by_partition() -> None:
    """The error has a code if all partitions have the same one, and None otherwise."""
    large, unknown = ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.UNKNOWN
    error = refused({T0: int(large), T1: int(large)})
    assert isinstance(error, OffsetCommitFailed)
    assert (error.failed, error.code) == (dict.fromkeys((T0, T1), explained(large)), large)
    assert str(error).startswith("group g: offsets not committed for ")
    mixed = refused({T0: int(large), T1: int(unknown)})
    assert isinstance(mixed, OffsetCommitFailed)
    assert (mixed.failed, mixed.code) == ({T0: explained(large), T1: explained(unknown)}, None)


def test_the_error_of_a_commit_that_timed_out_lists_each_partition() -> None:
    """A refused partition has its code, the others the last reason and whether there is doubt."""
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


def test_a_commit_that_was_not_sent_is_not_in_doubt() -> None:
    """An offset that was never sent is certainly not stored."""
    job = job_of(T0)
    job.expire()
    assert isinstance(job.error, OffsetCommitTimedOut)
    assert job.error.failed == {T0: "not confirmed in time: it was not sent in time"}


def test_the_error_of_a_commit_of_lost_partitions_names_them() -> None:
    """Others may own the partitions now; a poll brings the new assignment."""
    job = job_of(T0, T1, OTHER)
    job.fail_as_lost([T0, OTHER])
    assert isinstance(job.error, CommitFailed)
    assert str(job.error).startswith(
        "group g: not committed, since this member no longer owns t-0, other-0: "
    )
    assert job.is_settled
