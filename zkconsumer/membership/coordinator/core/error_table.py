"""A member's reaction to each error code of each request, as one table.

A code that the table does not list for a request is ``FATAL``: the caller gets the error, and its
next poll tries again. For OffsetCommit, it is ``OK``. The codes are those handled by Kafka's
``JoinGroupResponseHandler``, ``SyncGroupResponseHandler``, ``HeartbeatResponseHandler``,
``FindCoordinatorResponseHandler`` and ``OffsetCommitResponseHandler``, from 0.9 to 3.9.
"""

from collections.abc import Mapping
from enum import Enum, auto

from zkconsumer.error_codes import ErrorCode as E
from zkconsumer.error_codes import error_name


class MembershipRequest(Enum):
    """The requests whose responses concern membership."""

    FIND = "FindCoordinator"
    JOIN = "JoinGroup"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    COMMIT = "OffsetCommit"


class Handling(Enum):
    """The reaction to an error code."""

    OK = auto()
    """Nothing to do."""
    RETRY = auto()
    """Send the request again after a pause."""
    RELOCATE = auto()
    """Look up the coordinator, then send the request again."""
    REJOIN = auto()
    """Join again with the same identity; keep what we own until then."""
    ADOPT_MEMBER_ID = auto()
    """Join again with the member id in the response (KIP-394)."""
    RESET_GENERATION = auto()
    """Our generation is over and our partitions are lost; the member id may still be known."""
    RESET_MEMBER = auto()
    """As RESET_GENERATION, and the coordinator has forgotten the member id."""
    FATAL = auto()
    """Raise the error to the caller, whose next poll tries again."""
    FENCED = auto()
    """Another member has our instance id: don't join again, since that would fence *it*."""


_COORDINATOR_GONE: Mapping[int, Handling] = {
    E.COORDINATOR_NOT_AVAILABLE: Handling.RELOCATE,
    E.NOT_COORDINATOR: Handling.RELOCATE,
}

_TO_A_MEMBER: Mapping[int, Handling] = {
    **_COORDINATOR_GONE,
    E.REBALANCE_IN_PROGRESS: Handling.REJOIN,
    E.ILLEGAL_GENERATION: Handling.RESET_GENERATION,
    E.UNKNOWN_MEMBER_ID: Handling.RESET_MEMBER,
    E.FENCED_INSTANCE_ID: Handling.FENCED,
}

TABLE: Mapping[MembershipRequest, Mapping[int, Handling]] = {
    MembershipRequest.FIND: {
        E.COORDINATOR_NOT_AVAILABLE: Handling.RETRY,
        E.COORDINATOR_LOAD_IN_PROGRESS: Handling.RETRY,
        E.NOT_COORDINATOR: Handling.RETRY,
        E.LEADER_NOT_AVAILABLE: Handling.RETRY,
        E.REQUEST_TIMED_OUT: Handling.RETRY,
        E.GROUP_AUTHORIZATION_FAILED: Handling.FATAL,
        E.INVALID_GROUP_ID: Handling.FATAL,
    },
    MembershipRequest.JOIN: {
        **_COORDINATOR_GONE,
        E.COORDINATOR_LOAD_IN_PROGRESS: Handling.RETRY,
        # The broker could not write its log in time.
        E.REBALANCE_IN_PROGRESS: Handling.RETRY,
        E.MEMBER_ID_REQUIRED: Handling.ADOPT_MEMBER_ID,
        E.UNKNOWN_MEMBER_ID: Handling.RESET_MEMBER,
        E.FENCED_INSTANCE_ID: Handling.FENCED,
        # A group of KIP-848: a static member of the other protocol is still in it.
        E.UNRELEASED_INSTANCE_ID: Handling.FATAL,
        E.INCONSISTENT_GROUP_PROTOCOL: Handling.FATAL,
        E.INVALID_SESSION_TIMEOUT: Handling.FATAL,
        E.INVALID_GROUP_ID: Handling.FATAL,
        E.GROUP_AUTHORIZATION_FAILED: Handling.FATAL,
        E.GROUP_MAX_SIZE_REACHED: Handling.FATAL,
        E.UNSUPPORTED_VERSION: Handling.FATAL,
    },
    MembershipRequest.SYNC: {
        **_TO_A_MEMBER,
        E.COORDINATOR_LOAD_IN_PROGRESS: Handling.RETRY,
        E.INCONSISTENT_GROUP_PROTOCOL: Handling.FATAL,
        E.GROUP_AUTHORIZATION_FAILED: Handling.FATAL,
    },
    MembershipRequest.HEARTBEAT: {
        **_TO_A_MEMBER,
        E.COORDINATOR_LOAD_IN_PROGRESS: Handling.RETRY,
        E.GROUP_AUTHORIZATION_FAILED: Handling.FATAL,
    },
    # Whether the offsets are committed is up to the offset store; these codes also concern the
    # member, all others don't.
    MembershipRequest.COMMIT: {
        **_TO_A_MEMBER,
        E.REQUEST_TIMED_OUT: Handling.RELOCATE,
    },
}


def handling(request: MembershipRequest, code: int) -> Handling:
    """Return the reaction to a response's error code."""
    if code == E.NONE:
        return Handling.OK
    default = Handling.OK if request is MembershipRequest.COMMIT else Handling.FATAL
    return TABLE[request].get(code, default)


_ADVICE: Mapping[int, str] = {
    E.INCONSISTENT_GROUP_PROTOCOL: (
        "no strategy of partition.assignment.strategy is common to all members of the group"
    ),
    E.INVALID_SESSION_TIMEOUT: (
        "session.timeout.ms must lie between the broker's group.min.session.timeout.ms and "
        "group.max.session.timeout.ms"
    ),
    E.GROUP_MAX_SIZE_REACHED: "the broker's group.max.size is reached",
    E.FENCED_INSTANCE_ID: (
        "another member joined with the same group.instance.id, and has its partitions now: give "
        "each member an id of its own, then unsubscribe and subscribe again"
    ),
    E.UNSUPPORTED_VERSION: "brokers before 2.3 do not support group.instance.id",
}


def explain(request: MembershipRequest, code: int) -> str:
    """Return a sentence for the caller: the refused request, the reason, and what may help."""
    why = _ADVICE.get(code, E.of(code).text)
    return f"{request.value} was refused with {error_name(code)}: {why}"
