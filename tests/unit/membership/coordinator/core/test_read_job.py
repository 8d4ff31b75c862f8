"""One read of committed offsets: what counts as found, what is asked again, and what ends it."""

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
    """A job of two partitions, and how often its caller was told that it has ended."""

    def __init__(self) -> None:
        self.ends = 0
        self.job = ReadJob("g", [T0, T1], on_end=self._end)

    def _end(self) -> None:
        self.ends += 1

    def answer(
        self,
        found: dict[TopicPartition, OffsetAndMetadata | None] | None = None,
        *,
        code: int = 0,
        codes: dict[TopicPartition, int] | None = None,
    ) -> int | None:
        """Answer with these positions, a code of the whole response, or codes of partitions."""
        return self.job.on_response(Positions(code=code, found=found or {}, codes=codes or {}))


@pytest.fixture
def read() -> Read:
    """A job that nothing has been sent for."""
    return Read()


def test_a_read_ends_with_the_last_partition(read: Read) -> None:
    """What is committed and what is not are both results; what was not asked for is none."""
    assert (read.job.left, read.job.due_ms) == (BOTH, 0)
    found = {T0: OffsetAndMetadata(7, "note"), T1: None}
    assert read.answer({**found, OTHER: OffsetAndMetadata(9)}) is None
    assert (read.job.found, read.job.ended, read.job.error) == (found, True, None)


def test_a_partition_that_a_response_lacks_is_asked_for_again(read: Read) -> None:
    """It is not taken for one without an offset; what was found stays."""
    assert read.answer({T0: OffsetAndMetadata(7)}) == ErrorCode.UNKNOWN
    assert (read.job.left, read.job.ended) == (frozenset({T1}), False)
    assert "the response lacks partitions" in str(read.job.timed_out())
    assert read.answer({T1: None}) is None
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
def test_what_may_pass_is_asked_again(read: Read, code: ErrorCode) -> None:
    """A broker that has just started may not know a topic yet: no offset would be false."""
    assert read.answer(code=code) == code
    assert (read.job.left, read.job.found, read.job.error) == (BOTH, {}, None)
    assert read.answer({T0: None, T1: None}, codes={T1: int(code)}) == code
    assert (read.job.left, read.job.found) == (frozenset({T1}), {T0: None})
    assert str(read.job.timed_out()) == (
        f"group g: its committed offsets could not be read in time: {explained(code)}"
    )


def test_a_refusal_ends_the_read(read: Read) -> None:
    """It has the group, the code and its meaning; a refused topic does not hide a refused group."""
    codes = {
        T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        T1: int(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    }
    assert read.answer(codes=codes) is None
    error = read.job.error
    assert isinstance(error, GroupFailed)
    assert (error.code, read.job.ended) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, True)
    assert str(error) == (
        f"group g: OffsetFetch was refused with {explained(ErrorCode.GROUP_AUTHORIZATION_FAILED)}"
    )


def test_topics_that_may_not_be_read_are_named(read: Read) -> None:
    """All of those that were refused, and no others; also beside what may pass."""
    codes = {
        T0: int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        T1: int(ErrorCode.UNSTABLE_OFFSET_COMMIT),
    }
    read.answer(codes=codes)
    assert isinstance(read.job.error, TopicAuthorizationFailed)
    assert read.job.error.topics == {"t"}


def test_pauses_grow_up_to_their_limit(read: Read) -> None:
    """Counted from the failure, and no longer than they are set: one consumer reads, not many."""
    backoff = Backoff(10, 40)
    pauses_ms = []
    for now_ms in (100, 200, 300, 400):
        read.job.postpone(now_ms, backoff)
        pauses_ms.append(read.job.due_ms - now_ms)
    assert pauses_ms == [10, 20, 40, 40]


def test_a_read_that_is_out_of_time_says_why_there_was_no_response(read: Read) -> None:
    """The last reason; or that there was no time for a request."""
    assert "no request was sent in time" in str(read.job.timed_out())
    read.job.failed("the connection broke")
    assert "group g: its committed offsets" in str(read.job.timed_out())
    assert str(read.job.timed_out()).endswith(": the connection broke")


def test_the_first_error_stays_and_the_caller_is_told_of_the_end(read: Read) -> None:
    """A close after a refusal does not replace it."""
    closed, late = ConsumerClosed("closed"), ConsumerClosed("late")
    read.job.end(closed)
    read.job.end(late)
    assert (read.job.error, read.job.ended, read.ends) == (closed, True, 2)
