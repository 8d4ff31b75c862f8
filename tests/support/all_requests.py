"""Every request class of the codec, and a decoder of their frames, for fake brokers."""

from collections.abc import Mapping
from typing import Final

from zkconsumer.wire import codec
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.fetch import FetchRequest
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
)
from zkconsumer.wire.messages.group_members import (
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.init_producer_id import InitProducerIdRequest
from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest
from zkconsumer.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from zkconsumer.wire.messages.produce import ProduceRequest
from zkconsumer.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from zkconsumer.wire.messages.topic_admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
)

REQUESTS: Final[Mapping[ApiKey, type[Request[Response]]]] = {
    request.API.key: request
    for request in (
        ProduceRequest,
        FetchRequest,
        ListOffsetsRequest,
        MetadataRequest,
        OffsetCommitRequest,
        OffsetFetchRequest,
        FindCoordinatorRequest,
        JoinGroupRequest,
        HeartbeatRequest,
        LeaveGroupRequest,
        SyncGroupRequest,
        DescribeGroupsRequest,
        ListGroupsRequest,
        SaslHandshakeRequest,
        ApiVersionsRequest,
        CreateTopicsRequest,
        InitProducerIdRequest,
        OffsetForLeaderEpochRequest,
        SaslAuthenticateRequest,
        DeleteGroupsRequest,
        ConsumerGroupDescribeRequest,
        DeleteTopicsRequest,
        CreatePartitionsRequest,
        IncrementalAlterConfigsRequest,
    )
}


def decode_request(frame: bytes | bytearray | memoryview) -> RequestFrame:
    """Decode a frame without its length prefix, whichever request it contains.

    Raises:
        DecodeError: malformed, or an unknown request; names message, field and position.
    """
    return codec.decode_request(frame, REQUESTS)
