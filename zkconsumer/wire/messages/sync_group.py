"""SyncGroup: the leader sends the assignments, each member receives its own (from 0.9 on).

Source: Kafka 0.9.0.1 and 3.9 ``SyncGroupRequest``, ``SyncGroupResponse``; KIP-345, KIP-559.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Bytes, Hint, Int16, Int32, NullableString, Since, String

SYNC_GROUP = Api(key=ApiKey.SYNC_GROUP, last=5, flexible=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupAssignment:
    """One member's assignment, in the group's embedded protocol."""

    member_id: String
    assignment: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse(Response, api=SYNC_GROUP):
    """The member's assignment; empty with an error, or if the leader assigned it nothing."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    protocol_type: Annotated[NullableString, Since(5), Hint()] = None
    protocol_name: Annotated[NullableString, Since(5), Hint()] = None
    assignment: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
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
