"""DescribeGroups: members and state of groups (from 0.9 on).

Source: Kafka 0.9.0.1 and 3.9 ``DescribeGroupsRequest``, ``DescribeGroupsResponse``.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Bool, Bytes, Hint, Int16, Int32, NullableString, Since, String

DESCRIBE_GROUPS = Api(key=ApiKey.DESCRIBE_GROUPS, last=5, flexible=5)

NO_OPERATIONS = -(1 << 31)
"""Authorized operations that were not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """A member; metadata and assignment are in the group's embedded protocol.

    Both are empty unless the group is stable.
    """

    member_id: String
    group_instance_id: Annotated[NullableString, Since(4), Hint()] = None
    client_id: String
    client_host: String
    metadata: Bytes
    assignment: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """A group; an unknown one has state ``Dead``.

    ``protocol`` is the chosen assignment strategy, "" if none is.
    """

    error_code: Int16
    group_id: String
    state: String
    protocol_type: String
    protocol: String
    members: tuple[DescribedMember, ...]
    authorized_operations: Annotated[Int32, Since(3)] = NO_OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse(Response, api=DESCRIBE_GROUPS):
    """One result for each group."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    groups: tuple[DescribedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest(Request[DescribeGroupsResponse]):
    """Sent to the coordinator of all these groups."""

    groups: tuple[String, ...]
    include_authorized_operations: Annotated[Bool, Since(3)] = False
