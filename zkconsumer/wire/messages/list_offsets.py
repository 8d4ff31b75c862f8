"""ListOffsets: where a partition starts and ends.

v0 answers with up to ``max_offsets`` offsets, descending: segment starts not newer than
``timestamp``, and the end. An empty list is a normal answer: nothing matched.
Source: Kafka 0.8.2.2 ``OffsetRequest``, ``OffsetResponse``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, String

LIST_OFFSETS = Api(key=ApiKey.LIST_OFFSETS, last=0)

LATEST_TIMESTAMP = -1
"""Asks for the offset that the next message will get, as far as consumers may read."""

EARLIEST_TIMESTAMP = -2
"""Asks for the oldest offset that is still there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsPartition:
    """One partition; ``timestamp`` in ms since the epoch, or one of the two above."""

    partition: Int32
    timestamp: Int64
    max_offsets: Int32 = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsTopic:
    """What is wanted of one topic."""

    topic: String
    partitions: tuple[ListOffsetsPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPartition:
    """One partition's offsets, the newest first."""

    partition: Int32
    error_code: Int16
    offsets: tuple[Int64, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[ListedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse(Response):
    """One answer for each partition that was asked for."""

    API: ClassVar[Api] = LIST_OFFSETS

    topics: tuple[ListedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Asks the leader of all these partitions."""

    API: ClassVar[Api] = LIST_OFFSETS
    RESPONSE: ClassVar[type[Response]] = ListOffsetsResponse

    replica_id: Int32 = CONSUMER_REPLICA_ID
    topics: tuple[ListOffsetsTopic, ...]
