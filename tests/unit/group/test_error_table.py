"""Every code of the documents, request by request."""

import pytest

from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.group.error_table import TABLE, Handling, Request, explain, handling


@pytest.mark.parametrize("request_", list(Request))
def test_no_error_is_fine_everywhere(request_: Request) -> None:
    """And needs no row."""
    assert handling(request_, 0) is Handling.FINE
    assert 0 not in TABLE[request_]


@pytest.mark.parametrize(
    ("request_", "code", "expected"),
    [
        (Request.JOIN, E.COORDINATOR_LOAD_IN_PROGRESS, Handling.RETRY),
        (Request.JOIN, E.UNKNOWN_MEMBER_ID, Handling.RESET_MEMBER),
        (Request.JOIN, E.NOT_COORDINATOR, Handling.RELOCATE),
        (Request.JOIN, E.COORDINATOR_NOT_AVAILABLE, Handling.RELOCATE),
        (Request.JOIN, E.FENCED_INSTANCE_ID, Handling.FENCED),
        (Request.JOIN, E.MEMBER_ID_REQUIRED, Handling.TAKE_ID),
        (Request.JOIN, E.INCONSISTENT_GROUP_PROTOCOL, Handling.FATAL),
        (Request.JOIN, E.GROUP_MAX_SIZE_REACHED, Handling.FATAL),
        (Request.SYNC, E.REBALANCE_IN_PROGRESS, Handling.REJOIN),
        (Request.SYNC, E.ILLEGAL_GENERATION, Handling.RESET_GENERATION),
        (Request.SYNC, E.UNKNOWN_MEMBER_ID, Handling.RESET_MEMBER),
        (Request.HEARTBEAT, E.REBALANCE_IN_PROGRESS, Handling.REJOIN),
        (Request.HEARTBEAT, E.NOT_COORDINATOR, Handling.RELOCATE),
        (Request.HEARTBEAT, E.FENCED_INSTANCE_ID, Handling.FENCED),
        (Request.COMMIT, E.OFFSET_METADATA_TOO_LARGE, Handling.FINE),
        (Request.COMMIT, E.ILLEGAL_GENERATION, Handling.RESET_GENERATION),
        (Request.FIND, E.COORDINATOR_NOT_AVAILABLE, Handling.RETRY),
        (Request.FIND, E.GROUP_AUTHORIZATION_FAILED, Handling.FATAL),
        (Request.SYNC, E.UNKNOWN, Handling.FATAL),
        (Request.COMMIT, 9999, Handling.FINE),
    ],
)
def test_codes_of_the_documents(request_: Request, code: int, expected: Handling) -> None:
    """As Kafka's handlers do."""
    assert handling(request_, code) is expected


def test_an_explanation_names_request_code_and_way_out() -> None:
    """Also of a code that came later."""
    text = explain(Request.JOIN, E.INVALID_SESSION_TIMEOUT)
    assert text.startswith("JoinGroup was refused with INVALID_SESSION_TIMEOUT (26): session.")
    assert "error code 9999" in explain(Request.SYNC, 9999)
