"""OffsetCommit: stores a group's committed offsets.

v0 (0.8.1 on): any broker writes them to ZooKeeper, without their metadata. v1 (0.8.2 on): the
coordinator writes them to the offsets topic. v2 (0.9 on) has one retention time for all; from v5
(2.1) on the broker decides. v6 has leader epochs, v7 static members.
Source: Kafka 0.8.2.2 and 3.9 ``OffsetCommitRequest``; KIP-211, KIP-320, KIP-345.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Hint,
    Int16,
    Int32,
    Int64,
    LenientString,
    NullableString,
    Since,
    String,
    Until,
)

OFFSET_COMMIT = APIS[ApiKey.OFFSET_COMMIT]

BROKERS_RETENTION = -1
"""The retention time of the broker's ``offsets.retention.minutes``."""


class OffsetCommitPartition(ApiMessage):
    """One offset to commit: the next to read; a ``timestamp`` of -1 is the broker's current time.

    ``leader_epoch`` is that of the last record read, -1 if unknown.
    """

    partition: Int32
    offset: Int64
    leader_epoch: Annotated[Int32, Since(6), Hint()] = -1
    timestamp: Annotated[Int64, Since(1), Until(1)] = -1
    metadata: LenientString = ""


class OffsetCommitTopic(ApiMessage):
    """The offsets of one topic."""

    topic: String
    partitions: tuple[OffsetCommitPartition, ...]


class CommittedPartition(ApiMessage):
    """The result for one partition."""

    partition: Int32
    error_code: Int16


class CommittedTopic(ApiMessage):
    """The results for one topic."""

    topic: String
    partitions: tuple[CommittedPartition, ...]


class OffsetCommitResponse(Response, api=OFFSET_COMMIT):
    """One result for each partition."""

    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: tuple[CommittedTopic, ...]


class OffsetCommitRequest(Request[OffsetCommitResponse]):
    """Sent to the coordinator; clients outside of the group use generation -1 and no member id."""

    group_id: String
    generation_id: Annotated[Int32, Since(1)] = -1
    member_id: Annotated[LenientString, Since(1)] = ""
    group_instance_id: Annotated[NullableString, Since(7)] = None
    retention_time_ms: Annotated[Int64, Since(2), Until(4), Hint()] = BROKERS_RETENTION
    topics: tuple[OffsetCommitTopic, ...]
