"""The requests that describe and delete groups.

DescribeGroups (from 0.9 on) returns their members and state. ConsumerGroupDescribe (from 3.7 on,
KIP-848) does that for groups with server-side assignment, which DescribeGroups reports as dead.
DeleteGroups (from 1.1 on, KIP-229) deletes groups without members, and their offsets.

Source: Kafka 0.9.0.1, 1.1.0 and 3.9, the requests and responses of these names.
"""

from typing import Annotated

from zkconsumer.wire.absent import NO_OPERATIONS
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Bytes,
    Hint,
    Int16,
    Int32,
    NullableString,
    Since,
    String,
    Uuid,
)


class DescribedMember(ApiMessage):
    """A member; metadata and assignment are in the group's embedded protocol.

    Both are empty unless the group is stable.
    """

    member_id: String
    group_instance_id: Annotated[NullableString, Since(4), Hint()] = None
    client_id: String
    client_host: String
    metadata: Bytes
    assignment: Bytes


class DescribedGroup(ApiMessage):
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


class DescribeGroupsResponse(Response, api=APIS[ApiKey.DESCRIBE_GROUPS]):
    """One result for each group."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    groups: tuple[DescribedGroup, ...]


class DescribeGroupsRequest(Request[DescribeGroupsResponse]):
    """Sent to the coordinator of all these groups."""

    groups: tuple[String, ...]
    include_authorized_operations: Annotated[Bool, Since(3)] = False


class AssignedTopic(ApiMessage):
    """Partitions of one topic."""

    topic_id: Annotated[Uuid, Hint()]
    topic_name: String
    partitions: tuple[Int32, ...]


class MemberAssignment(ApiMessage):
    """The partitions that a member owns, or is to own."""

    topic_partitions: tuple[AssignedTopic, ...] = ()


class ReconciledMember(ApiMessage):
    """A member; it gets its ``target_assignment`` once other members have revoked partitions."""

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


class ReconciledGroup(ApiMessage):
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


class ConsumerGroupDescribeResponse(Response, api=APIS[ApiKey.CONSUMER_GROUP_DESCRIBE]):
    """One result for each group."""

    throttle_time_ms: Int32 = 0
    groups: tuple[ReconciledGroup, ...]


class ConsumerGroupDescribeRequest(Request[ConsumerGroupDescribeResponse]):
    """Sent to the coordinator of all these groups."""

    group_ids: tuple[String, ...]
    include_authorized_operations: Bool = False


class DeletedGroup(ApiMessage):
    """The result for one group: ``NON_EMPTY_GROUP`` if it has members."""

    group_id: String
    error_code: Int16


class DeleteGroupsResponse(Response, api=APIS[ApiKey.DELETE_GROUPS]):
    """One result for each group."""

    throttle_time_ms: Int32 = 0
    results: tuple[DeletedGroup, ...]


class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    """Sent to the coordinator of all these groups."""

    groups_names: tuple[String, ...]
