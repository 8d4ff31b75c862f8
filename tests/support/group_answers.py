"""Responses of a coordinator with only the fields that tests need."""

from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.group_members import (
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def join_response(
    *,
    code: int,
    generation: int = -1,
    protocol: str = "",
    leader: str = "",
    member_id: str = "",
    skip: bool = False,
    members: tuple[JoinGroupMember, ...] = (),
) -> JoinGroupResponse:
    """Return a JoinGroup response."""
    return JoinGroupResponse(
        error_code=code,
        generation_id=generation,
        protocol_name=protocol,
        leader=leader,
        member_id=member_id,
        skip_assignment=skip,
        members=members,
    )


def refusal(request: Request[Response], code: int) -> Response:
    """Return the response to a request that contains an error code only."""
    match request:
        case JoinGroupRequest():
            return join_response(code=code)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code, assignment=b"")
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case _:
            raise AssertionError(f"a member sends no {request}")
