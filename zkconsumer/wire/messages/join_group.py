"""JoinGroup: joins a group, or its next generation (from 0.9 on).

The coordinator responds when all members have joined or the rebalance time-out is over. Only the
leader receives the members. Version 1 separates the rebalance time-out from the session time-out
(KIP-62); from version 4 on a new member is first assigned its id, with ``MEMBER_ID_REQUIRED``
(KIP-394); 5 has static members (KIP-345), 8 a reason (KIP-800), 9 leaders that need not assign
(KIP-814).
Source: Kafka 0.9.0.1 and 3.9 ``JoinGroupRequest``, ``JoinGroupResponse``.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    Bool,
    Bytes,
    Hint,
    Int16,
    Int32,
    LenientString,
    NullableString,
    Since,
    String,
)

JOIN_GROUP = Api(key=ApiKey.JOIN_GROUP, last=9, flexible=6)

CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type of groups of consumers."""

NO_MEMBER_ID = ""
"""The member id of a member that has not been assigned one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupProtocol:
    """An assignment strategy that the member supports, and its subscription for that strategy."""

    name: String
    metadata: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupMember:
    """A member as the leader receives it: with its metadata for the chosen strategy."""

    member_id: String
    group_instance_id: Annotated[NullableString, Since(5), Hint()] = None
    metadata: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse(Response, api=JOIN_GROUP):
    """The generation; -1 with an error, when at most ``member_id`` is set.

    ``skip_assignment``: the leader is to send no assignments; they remain unchanged.
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
