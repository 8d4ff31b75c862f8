"""ConsumerGroupDescribe: members and state of groups with server-side assignment (from 3.7 on).

DescribeGroups calls such a group dead. Source: KIP-848; Kafka 3.9
``ConsumerGroupDescribeRequest.json``, ``ConsumerGroupDescribeResponse.json``.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Bool, Hint, Int16, Int32, NullableString, String, Uuid

CONSUMER_GROUP_DESCRIBE = Api(key=ApiKey.CONSUMER_GROUP_DESCRIBE, last=0, flexible=0)

NO_OPERATIONS = -(1 << 31)
"""Authorized operations that were not requested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedTopic:
    """Partitions of one topic."""

    topic_id: Annotated[Uuid, Hint()]
    topic_name: String
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAssignment:
    """The partitions that a member has, or is to get."""

    topic_partitions: tuple[AssignedTopic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledMember:
    """A member; ``target_assignment`` is what it has once the others have revoked theirs."""

    member_id: String
    instance_id: NullableString = None
    rack_id: NullableString = None
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: tuple[String, ...]
    subscribed_topic_regex: NullableString = None
    assignment: MemberAssignment
    target_assignment: MemberAssignment


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledGroup:
    """A group; an unknown one, or one of another type, has error ``GROUP_ID_NOT_FOUND``."""

    error_code: Int16
    error_message: NullableString = None
    group_id: String
    state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: tuple[ReconciledMember, ...]
    authorized_operations: Int32 = NO_OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse(Response, api=CONSUMER_GROUP_DESCRIBE):
    """One result for each group."""

    throttle_time_ms: Int32 = 0
    groups: tuple[ReconciledGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeRequest(Request[ConsumerGroupDescribeResponse]):
    """Sent to the coordinator of all these groups."""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool = False
