"""OffsetForLeaderEpoch: where a leader epoch ended, to find out what was truncated (KIP-320).

Consumers may ask from version 3 on; before that only replicas could, and the broker wants the right
to act for the cluster. Source: Kafka 3.9 ``OffsetsForLeaderEpochRequest``.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Hint, Int16, Int32, Int64, Since, String

OFFSET_FOR_LEADER_EPOCH = Api(key=ApiKey.OFFSET_FOR_LEADER_EPOCH, last=4, flexible=4)

FIRST_VERSION_FOR_CONSUMERS = 3
"""Older versions need rights that a consumer does not have."""

NO_EPOCH = -1
"""A leader epoch that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPartition:
    """One partition: the epoch of the last record that was read, and the leader's as we know it."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(2), Hint()] = NO_EPOCH
    leader_epoch: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochTopic:
    """What is wanted of one topic."""

    topic: String
    partitions: tuple[EpochPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndOffset:
    """The largest epoch not above the asked one, and the offset behind its last record.

    Both are -1 where the leader has no such epoch.
    """

    error_code: Int16
    partition: Int32
    leader_epoch: Annotated[Int32, Since(1)] = NO_EPOCH
    end_offset: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEndTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[EpochEndOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse(Response):
    """One answer for each partition."""

    API: ClassVar[Api] = OFFSET_FOR_LEADER_EPOCH

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[EpochEndTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    """Asks the leader of all these partitions."""

    API: ClassVar[Api] = OFFSET_FOR_LEADER_EPOCH
    RESPONSE: ClassVar[type[Response]] = OffsetForLeaderEpochResponse

    replica_id: Annotated[Int32, Since(3)] = CONSUMER_REPLICA_ID
    topics: tuple[EpochTopic, ...]
