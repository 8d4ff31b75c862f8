"""How each error code of the membership APIs is handled."""

import pytest

from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.membership.coordinator.core.error_table import (
    TABLE,
    Handling,
    MembershipRequest,
    explain,
    handling,
)


@pytest.mark.parametrize("request_", list(MembershipRequest))
def test_code_0_is_fine_for_every_request(request_: MembershipRequest) -> None:
    """Code 0 is fine for every request, without a row in the table."""
    assert handling(request_, 0) is Handling.OK
    assert 0 not in TABLE[request_]


@pytest.mark.parametrize(
    ("request_", "code", "expected"),
    [
        (MembershipRequest.JOIN, E.COORDINATOR_LOAD_IN_PROGRESS, Handling.RETRY),
        (MembershipRequest.JOIN, E.UNKNOWN_MEMBER_ID, Handling.RESET_MEMBER),
        (MembershipRequest.JOIN, E.NOT_COORDINATOR, Handling.RELOCATE),
        (MembershipRequest.JOIN, E.COORDINATOR_NOT_AVAILABLE, Handling.RELOCATE),
        (MembershipRequest.JOIN, E.FENCED_INSTANCE_ID, Handling.FENCED),
        (MembershipRequest.JOIN, E.MEMBER_ID_REQUIRED, Handling.ADOPT_MEMBER_ID),
        (MembershipRequest.JOIN, E.INCONSISTENT_GROUP_PROTOCOL, Handling.FATAL),
        (MembershipRequest.JOIN, E.GROUP_MAX_SIZE_REACHED, Handling.FATAL),
        (MembershipRequest.SYNC, E.REBALANCE_IN_PROGRESS, Handling.REJOIN),
        (MembershipRequest.SYNC, E.ILLEGAL_GENERATION, Handling.RESET_GENERATION),
        (MembershipRequest.SYNC, E.UNKNOWN_MEMBER_ID, Handling.RESET_MEMBER),
        (MembershipRequest.HEARTBEAT, E.REBALANCE_IN_PROGRESS, Handling.REJOIN),
        (MembershipRequest.HEARTBEAT, E.NOT_COORDINATOR, Handling.RELOCATE),
        (MembershipRequest.HEARTBEAT, E.FENCED_INSTANCE_ID, Handling.FENCED),
        (MembershipRequest.COMMIT, E.OFFSET_METADATA_TOO_LARGE, Handling.OK),
        (MembershipRequest.COMMIT, E.ILLEGAL_GENERATION, Handling.RESET_GENERATION),
        (MembershipRequest.FIND, E.COORDINATOR_NOT_AVAILABLE, Handling.RETRY),
        (MembershipRequest.FIND, E.GROUP_AUTHORIZATION_FAILED, Handling.FATAL),
        (MembershipRequest.SYNC, E.UNKNOWN, Handling.FATAL),
        (MembershipRequest.COMMIT, 9999, Handling.OK),
    ],
)
def test_codes_are_handled_as_kafka_documents(
    request_: MembershipRequest, code: int, expected: Handling
) -> None:
    """They are handled as in Kafka's response handlers."""
    assert handling(request_, code) is expected


def test_an_explanation_names_the_request_the_code_and_a_remedy() -> None:
    """A code that this version does not know has an explanation, too."""
    text = explain(MembershipRequest.JOIN, E.INVALID_SESSION_TIMEOUT)
    assert text.startswith("JoinGroup was refused with INVALID_SESSION_TIMEOUT (26): session.")
    assert "error code 9999" in explain(MembershipRequest.SYNC, 9999)


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (MembershipRequest.FIND, "FindCoordinator"),
        (MembershipRequest.JOIN, "JoinGroup"),
        (MembershipRequest.SYNC, "SyncGroup"),
        (MembershipRequest.HEARTBEAT, "Heartbeat"),
        (MembershipRequest.COMMIT, "OffsetCommit"),
    ],
)
def test_an_explanation_has_the_protocols_name_of_the_request(
    request_: MembershipRequest, name: str
) -> None:
    """So it can be found in the broker's log and in Kafka's documentation."""
    assert explain(request_, E.UNKNOWN).startswith(f"{name} was refused with UNKNOWN (-1): ")


def test_a_code_without_advice_is_explained_by_its_meaning() -> None:
    """The meaning is the protocol's own description."""
    code = E.GROUP_AUTHORIZATION_FAILED
    assert explain(MembershipRequest.FIND, code) == (
        f"FindCoordinator was refused with GROUP_AUTHORIZATION_FAILED (30): {code.text}"
    )
