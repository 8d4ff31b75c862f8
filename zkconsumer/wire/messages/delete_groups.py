"""DeleteGroups (from 1.1 on): deletes groups without members, and their offsets.

Source: Kafka 1.1.0 and 3.9 ``DeleteGroupsRequest``, ``DeleteGroupsResponse``; KIP-229.
"""

from dataclasses import dataclass

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, String

DELETE_GROUPS = Api(key=ApiKey.DELETE_GROUPS, last=2, flexible=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    """The result for one group: ``NON_EMPTY_GROUP`` if it has members."""

    group_id: String
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse(Response, api=DELETE_GROUPS):
    """One result for each group."""

    throttle_time_ms: Int32 = 0
    results: tuple[DeletedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    """Sent to the coordinator of all these groups."""

    groups_names: tuple[String, ...]
