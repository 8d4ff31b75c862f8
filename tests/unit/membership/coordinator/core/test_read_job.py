"""One read of committed offsets: what counts as a result, what is requested again, what ends it."""

import pytest

from zkconsumer.backoff import Backoff
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import ConsumerClosed, GroupFailed, TopicAuthorizationFailed
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import Positions

T0, T1, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("other", 0)
BOTH = frozenset((T0, T1))


class Read:
    """A job for two partitions, and how often its end was reported."""

    def __init__(self) -> None:
        self.ends = 0
        self.job = ReadJob("g", [T0, T1], on_end=self._end)

    def _end(self) -> None:
        self.ends += 1

    def respond(
        self,
        found: dict[TopicPartition, OffsetAndMetadata | None] | None = None,
        *,
        code: int = 0,
        codes: dict[TopicPartition, int] | None = None,
    ) -> int | None:
        """Respond with these offsets, a code of the whole response, or codes by partition."""
        return self.job.on_response(Positions(code=code, found=found or {}, codes=codes or {}))


@pytest.fixture
def read() -> Read:
    """A job without a request so far."""
    return Read()


def test_a_read_ends_with_the_last_partition(read: Read) -> None:
    """A partition without a committed offset is a result, too; one not requested is ignored."""
    assert (read.job.left, read.job.due_ms) == (BOTH, 0)
    found = {T0: OffsetAndMetadata(7, "note"), T1: None}
    assert read.respond({**found, OTHER: OffsetAndMetadata(9)}) is None
    assert (read.job.found, read.job.ended, read.job.error) == (found, True, None)


def test_a_partition_missing_from_the_response_is_requested_again(read: Read) -> None:
    """It does not count as a partition without an offset; the other results stay."""
    assert read.respond({T0: OffsetAndMetadata(7)}) == ErrorCode.UNKNOWN
    assert (read.job.left, read.job.ended) == (frozenset({T1}), False)
    assert "the response lacks partitions" in str(read.job.timed_out())
    assert read.respond({T1: None}) is None
    assert read.job.found == {T0: OffsetAndMetadata(7), T1: None}


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_retriable_error_is_retried(read: Read, code: ErrorCode) -> None:
    """A broker that has just started may not know a topic yet: "no offset" would be wrong."""
    assert read.respond(code=code) == code
    assert (read.job.left, read.job.found, read.job.error) == (BOTH, {}, None)
    assert read.respond({T0: None, T1: None}, codes={T1: int(code)}) == code
    assert (read.job.left, read.job.found) == (frozenset({T1}), {T0: None})
    assert str(read.job.timed_out()) == (
        f"group g: its committed offsets could not be read in time: {explained(code)}"
    )


def test_a_refusal_ends_the_read(read: Read) -> None:
    """It has the group, the code and its meaning; a refused group wins over a refused topic."""
    codes = {
        T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        T1: int(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    }
    assert read.respond(codes=codes) is None
    error = read.job.error
    assert isinstance(error, GroupFailed)
    assert (error.code, read.job.ended) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, True)
    assert str(error) == (
        f"group g: OffsetFetch was refused with {explained(ErrorCode.GROUP_AUTHORIZATION_FAILED)}"
    )


def test_the_error_names_topics_that_may_not_be_read(read: Read) -> None:
    """Exactly the refused topics are named, even if others have a retriable error."""
    codes = {
        T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        T1: int(ErrorCode.UNSTABLE_OFFSET_COMMIT),
    }
    read.respond(codes=codes)
    assert isinstance(read.job.error, TopicAuthorizationFailed)
    assert read.job.error.topics == {"t"}


def test_pauses_grow_up_to_their_limit(read: Read) -> None:
    """They count from the failure, without jitter: one consumer reads, not many."""
    backoff = Backoff(10, 40)
    pauses_ms = []
    for now_ms in (100, 200, 300, 400):
        read.job.postpone(now_ms, backoff)
        pauses_ms.append(read.job.due_ms - now_ms)
    assert pauses_ms == [10, 20, 40, 40]


def test_the_error_of_a_read_that_timed_out_has_the_reason(read: Read) -> None:
    """The error has the last failure, or says that no request was sent in time."""
    assert "no request was sent in time" in str(read.job.timed_out())
    read.job.failed("the connection broke")
    assert "group g: its committed offsets" in str(read.job.timed_out())
    assert str(read.job.timed_out()).endswith(": the connection broke")


def test_the_first_error_stays_and_the_end_is_reported(read: Read) -> None:
    """A close after a refusal does not replace it."""
    closed, late = ConsumerClosed("closed"), ConsumerClosed("late")
    read.job.end(closed)
    read.job.end(late)
    assert (read.job.error, read.job.ended, read.ends) == (closed, True, 2)
