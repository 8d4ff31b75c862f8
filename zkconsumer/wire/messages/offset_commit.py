"""OffsetCommit: stores a group's positions.

v0 (0.8.1 on): any broker writes them to ZooKeeper, the metadata is dropped. v1 (0.8.2 on): the
coordinator writes them to the offsets topic. Source: Kafka 0.8.2.2 ``OffsetCommitRequest``.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, LenientString, Since, String

OFFSET_COMMIT = Api(key=ApiKey.OFFSET_COMMIT, last=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitPartition:
    """One position: the next offset to read; ``timestamp`` -1 is the broker's now."""

    partition: Int32
    offset: Int64
    timestamp: Annotated[Int64, Since(1)] = -1
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

    topics: tuple[CommittedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest(Request[OffsetCommitResponse]):
    """Commits; members that ZooKeeper coordinates have generation -1 and no consumer id."""

    API: ClassVar[Api] = OFFSET_COMMIT
    RESPONSE: ClassVar[type[Response]] = OffsetCommitResponse

    group_id: String
    generation_id: Annotated[Int32, Since(1)] = -1
    consumer_id: Annotated[LenientString, Since(1)] = ""
    topics: tuple[OffsetCommitTopic, ...]
