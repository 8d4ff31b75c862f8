"""LeaveGroup: removes a member from its group (from 0.9 on); since version 3, several at once.

Up to version 2 the request names its member itself, later a list of them does (KIP-345); version 5
gives a reason for each (KIP-800). Source: Kafka 0.9.0.1 and 3.9 ``LeaveGroupRequest``.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Hint, Int16, Int32, NullableString, Since, String, Until

LEAVE_GROUP = Api(key=ApiKey.LEAVE_GROUP, last=5, flexible=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    """A member that leaves; a static one may be named by its instance id alone."""

    member_id: String
    group_instance_id: NullableString = None
    reason: Annotated[NullableString, Since(5), Hint()] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember:
    """The result for one member."""

    member_id: String
    group_instance_id: NullableString = None
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse(Response, api=LEAVE_GROUP):
    """The result for the request, and from version 3 on for each member."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    members: Annotated[tuple[LeftMember, ...], Since(3)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest(Request[LeaveGroupResponse]):
    """Sent to the coordinator; ``leave_request`` builds it for one member and any version."""

    group_id: String
    member_id: Annotated[String, Until(2)] = ""
    members: Annotated[tuple[LeavingMember, ...], Since(3)] = ()


def leave_request(
    group_id: str, member_id: str, *, version: int, reason: str | None = None
) -> LeaveGroupRequest:
    """Return the request of one leaving member, in the form of the version."""
    if version < 3:
        return LeaveGroupRequest(group_id=group_id, member_id=member_id)
    member = LeavingMember(member_id=member_id, reason=reason)
    return LeaveGroupRequest(group_id=group_id, members=(member,))
