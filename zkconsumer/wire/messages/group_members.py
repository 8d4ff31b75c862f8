"""The requests of a group's members to its coordinator, all from Kafka 0.9 on.

JoinGroup joins a group, or its next generation. The coordinator responds when all members have
joined, or after the rebalance time-out; only the leader receives the list of members. Version 1
separates the rebalance time-out from the session time-out (KIP-62); from version 4 on a new member
is first assigned its id, with ``MEMBER_ID_REQUIRED`` (KIP-394); 5 has static members (KIP-345), 8 a
reason (KIP-800), 9 leaders that need not assign again (KIP-814). With SyncGroup the leader sends
the assignments, and each member receives its own (KIP-559). LeaveGroup removes a member: up to
version 2 the request names one member, later a list of members (KIP-345); version 5 gives a reason
for each (KIP-800). Heartbeats, which every connection sends, are in ``heartbeat``.

Source: Kafka 0.9.0.1 and 3.9 ``JoinGroupRequest``, ``SyncGroupRequest``, ``LeaveGroupRequest``, and
their responses.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Bytes,
    Hint,
    Int16,
    Int32,
    LenientString,
    NullableString,
    Since,
    String,
    Until,
)

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of groups of consumers."""

NO_MEMBER_ID = ""
"""The member id of a member that has not been assigned one."""


class JoinGroupProtocol(ApiMessage):
    """An assignment strategy that the member supports, and its subscription for that strategy."""

    name: String
    metadata: Bytes


class JoinGroupMember(ApiMessage):
    """A member as the leader receives it: with its metadata for the chosen strategy."""

    member_id: String
    group_instance_id: Annotated[NullableString, Since(5), Hint()] = None
    metadata: Bytes


class JoinGroupResponse(Response, api=APIS[ApiKey.JOIN_GROUP]):
    """The generation; with an error it is -1, and at most ``member_id`` is set.

    ``skip_assignment``: the leader must send no assignments; they remain unchanged.
    """

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    error_code: Int16
    generation_id: Int32
    protocol_type: Annotated[NullableString, Since(7), Hint()] = None
    protocol_name: LenientString
    leader: String
    skip_assignment: Annotated[Bool, Since(9)] = False
    member_id: String
    members: tuple[JoinGroupMember, ...]


class JoinGroupRequest(Request[JoinGroupResponse]):
    """Sent to the coordinator; the protocols are in order of preference.

    In version 0 the rebalance time-out is the session time-out.
    """

    group_id: String
    session_timeout_ms: Int32
    rebalance_timeout_ms: Annotated[Int32, Since(1), Hint()] = -1
    member_id: String = NO_MEMBER_ID
    group_instance_id: Annotated[NullableString, Since(5)] = None
    protocol_type: String = CONSUMER_PROTOCOL_TYPE
    protocols: tuple[JoinGroupProtocol, ...]
    reason: Annotated[NullableString, Since(8), Hint()] = None


class SyncGroupAssignment(ApiMessage):
    """One member's assignment, in the group's embedded protocol."""

    member_id: String
    assignment: Bytes


class SyncGroupResponse(Response, api=APIS[ApiKey.SYNC_GROUP]):
    """The member's assignment; empty with an error, or if the leader assigned it nothing."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    protocol_type: Annotated[NullableString, Since(5), Hint()] = None
    protocol_name: Annotated[NullableString, Since(5), Hint()] = None
    assignment: Bytes


class SyncGroupRequest(Request[SyncGroupResponse]):
    """Sent to the coordinator; only the leader sends assignments.

    From version 5 on the coordinator refuses a protocol type or name other than the group's.
    """

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: Annotated[NullableString, Since(3)] = None
    protocol_type: Annotated[NullableString, Since(5), Hint()] = None
    protocol_name: Annotated[NullableString, Since(5), Hint()] = None
    assignments: tuple[SyncGroupAssignment, ...] = ()


class LeavingMember(ApiMessage):
    """A member that leaves; a static one may be named by its instance id alone."""

    member_id: String
    group_instance_id: NullableString = None
    reason: Annotated[NullableString, Since(5), Hint()] = None


class LeftMember(ApiMessage):
    """The result for one member."""

    member_id: String
    group_instance_id: NullableString = None
    error_code: Int16


class LeaveGroupResponse(Response, api=APIS[ApiKey.LEAVE_GROUP]):
    """The result for the request, and from version 3 on for each member."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    members: Annotated[tuple[LeftMember, ...], Since(3)] = ()


class LeaveGroupRequest(Request[LeaveGroupResponse]):
    """Sent to the coordinator; ``leave_request`` builds it for one member and any version."""

    group_id: String
    member_id: Annotated[String, Until(2)] = ""
    members: Annotated[tuple[LeavingMember, ...], Since(3)] = ()


def leave_request(
    group_id: str, member_id: str, *, version: int, reason: str | None = None
) -> LeaveGroupRequest:
    """Return the request for one leaving member, in the form of that version."""
    if version < 3:
        return LeaveGroupRequest(group_id=group_id, member_id=member_id)
    member = LeavingMember(member_id=member_id, reason=reason)
    return LeaveGroupRequest(group_id=group_id, members=(member,))
