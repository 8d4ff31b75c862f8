"""Error codes: each number has a meaning, also those that are unknown so far."""

import pytest

from zkconsumer.error_codes import ErrorCode, error_name


def test_every_code_up_to_3_9_is_there() -> None:
    """The numbers from -1 to 127 are all known, each once."""
    assert sorted(ErrorCode) == list(range(-1, 128))
    assert len({code.name for code in ErrorCode}) == len({code.text for code in ErrorCode}) == 129


@pytest.mark.parametrize(
    ("code", "retriable", "refresh"),
    [
        (ErrorCode.UNKNOWN, False, False),
        (ErrorCode.NONE, False, False),
        (ErrorCode.OFFSET_OUT_OF_RANGE, False, False),
        (ErrorCode.CORRUPT_MESSAGE, True, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True, True),
        (ErrorCode.LEADER_NOT_AVAILABLE, True, True),
        (ErrorCode.NOT_LEADER_FOR_PARTITION, True, True),
        (ErrorCode.REQUEST_TIMED_OUT, True, False),
        (ErrorCode.MESSAGE_TOO_LARGE, False, False),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True, False),
        (ErrorCode.NOT_COORDINATOR, True, False),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, True, False),
        (ErrorCode.UNKNOWN_MEMBER_ID, False, False),
    ],
)
def test_codes_say_whether_to_retry_and_to_refresh_metadata(
    code: ErrorCode, retriable: bool, refresh: bool
) -> None:
    """A code says whether the request may be retried, and whether metadata must be refreshed."""
    assert (code.retriable, code.refresh_metadata) == (retriable, refresh)


def test_unknown_numbers_keep_their_number() -> None:
    """An unknown number counts as UNKNOWN, but is shown as a number."""
    assert ErrorCode.of(999) is ErrorCode.UNKNOWN
    assert error_name(999) == "error code 999"


def test_known_numbers_have_names() -> None:
    """A known number is shown by name and number."""
    assert ErrorCode.of(6) is ErrorCode.NOT_LEADER_FOR_PARTITION
    assert error_name(6) == "NOT_LEADER_FOR_PARTITION (6)"
    assert ErrorCode.of(6).text == "the broker does not lead that partition"
