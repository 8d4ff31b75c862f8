"""OffsetCommit: stores a group's positions.

v0 (0.8.1 on): any broker writes them to ZooKeeper, the metadata is dropped. v1 (0.8.2 on): the
coordinator writes them to the offsets topic. v2 (0.9 on) says once how long they are kept; from v5
(2.1) on that is the broker's to say. v6 has leader epochs, v7 static members.
Source: Kafka 0.8.2.2 and 3.9 ``OffsetCommitRequest``; KIP-211, KIP-320, KIP-345.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import (
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

OFFSET_COMMIT = Api(key=ApiKey.OFFSET_COMMIT, last=8, flexible=8)

BROKERS_RETENTION = -1
"""Offsets are kept as long as the broker keeps them by its ``offsets.retention.minutes``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitPartition:
    """One position: the next offset to read; ``timestamp`` -1 is the broker's now.

    ``leader_epoch`` is that of the last record that was read, -1 where it is not known.
    """

    partition: Int32
    offset: Int64
    leader_epoch: Annotated[Int32, Since(6), Hint()] = -1
    timestamp: Annotated[Int64, Since(1), Until(1)] = -1
    metadata: LenientString = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitTopic:
    """One topic's positions."""

    topic: String
    partitions: tuple[OffsetCommitPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedPartition:
    """What became of one position."""

    partition: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[CommittedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse(Response):
    """One answer for each position."""

    API: ClassVar[Api] = OFFSET_COMMIT

    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: tuple[CommittedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest(Request[OffsetCommitResponse]):
    """Commits; who is no member of a coordinated group has generation -1 and no member id."""

    API: ClassVar[Api] = OFFSET_COMMIT
    RESPONSE: ClassVar[type[Response]] = OffsetCommitResponse

    group_id: String
    generation_id: Annotated[Int32, Since(1)] = -1
    member_id: Annotated[LenientString, Since(1)] = ""
    group_instance_id: Annotated[NullableString, Since(7)] = None
    retention_time_ms: Annotated[Int64, Since(2), Until(4), Hint()] = BROKERS_RETENTION
    topics: tuple[OffsetCommitTopic, ...]
