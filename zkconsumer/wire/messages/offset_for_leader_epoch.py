"""OffsetForLeaderEpoch: the end offset of a leader epoch, to detect truncation (KIP-320).

Consumers may use it from version 3 on; older versions are for replicas, and require the permission
to act for the cluster. Source: Kafka 3.9 ``OffsetsForLeaderEpochRequest``.
"""

from typing import Annotated

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.absent import NO_EPOCH
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import ApiMessage, Hint, Int16, Int32, Int64, Since, String

FIRST_VERSION_FOR_CONSUMERS = 3
"""Older versions require permissions that a consumer does not have."""


class EpochPartition(ApiMessage):
    """One partition: the epoch of the last record read, and the leader epoch that we know."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(2), Hint()] = NO_EPOCH
    leader_epoch: Int32


class EpochTopic(ApiMessage):
    """The requested partitions of one topic."""

    topic: String
    partitions: tuple[EpochPartition, ...]


class EpochEndOffset(ApiMessage):
    """The largest epoch not above the requested one, and its end offset.

    Both are -1 if the leader has no such epoch.
    """

    error_code: Int16
    partition: Int32
    leader_epoch: Annotated[Int32, Since(1)] = NO_EPOCH
    end_offset: Int64


class EpochEndTopic(ApiMessage):
    """The results for one topic."""

    topic: String
    partitions: tuple[EpochEndOffset, ...]


class OffsetForLeaderEpochResponse(Response, api=APIS[ApiKey.OFFSET_FOR_LEADER_EPOCH]):
    """One result for each partition."""

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[EpochEndTopic, ...]


class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Sent to the leader of all these partitions."""

    replica_id: Annotated[Int32, Since(3)] = CONSUMER_REPLICA_ID
    topics: tuple[EpochTopic, ...]
