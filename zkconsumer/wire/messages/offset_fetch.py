"""OffsetFetch: reads a group's positions.

Same bytes in both versions: v0 reads ZooKeeper (any broker; nothing stored is error 3), v1 the
offsets topic (coordinator only; nothing stored is offset -1 without error).
Source: Kafka 0.8.2.2 ``OffsetFetchRequest``, ``OffsetFetchResponse``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, LenientString, String

OFFSET_FETCH = Api(key=ApiKey.OFFSET_FETCH, last=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchTopic:
    """The partitions of one topic whose positions are wanted."""

    topic: String
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchedPartition:
    """One position: the next offset to read, -1 where none is stored."""

    partition: Int32
    offset: Int64
    metadata: LenientString
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchedTopic:
    """One topic's positions."""

    topic: String
    partitions: tuple[OffsetFetchedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse(Response):
    """One position for each partition that was asked for."""

    API: ClassVar[Api] = OFFSET_FETCH

    topics: tuple[OffsetFetchedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest(Request[OffsetFetchResponse]):
    """Asks for positions; no topics give no answers (there is no "all" here)."""

    API: ClassVar[Api] = OFFSET_FETCH
    RESPONSE: ClassVar[type[Response]] = OffsetFetchResponse

    group_id: String
    topics: tuple[OffsetFetchTopic, ...]
