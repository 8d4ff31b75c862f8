"""OffsetFetch: reads a group's positions.

Same bytes in the first versions: v0 reads ZooKeeper (any broker; nothing stored is error 3), v1 the
offsets topic (coordinator only; nothing stored is offset -1 without error). v2 (0.10.2) can ask for
all, and has an error for all; v5 has leader epochs; v7 (2.5) can wait for open transactions. v8,
which asks for many groups at once, is of no use to one consumer.
Source: Kafka 0.8.2.2 and 3.9 ``OffsetFetchRequest``; KIP-88, KIP-320, KIP-447.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    Bool,
    Int16,
    Int32,
    Int64,
    LenientString,
    NullSince,
    Since,
    String,
)

OFFSET_FETCH = Api(key=ApiKey.OFFSET_FETCH, last=7, flexible=6)


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
    leader_epoch: Annotated[Int32, Since(5)] = -1
    metadata: LenientString
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchedTopic:
    """One topic's positions."""

    topic: String
    partitions: tuple[OffsetFetchedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse(Response):
    """One position for each partition that was asked for.

    Up to version 1 what is wrong with all of them stands in each, later in ``error_code``.
    """

    API: ClassVar[Api] = OFFSET_FETCH

    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: tuple[OffsetFetchedTopic, ...]
    error_code: Annotated[Int16, Since(2)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest(Request[OffsetFetchResponse]):
    """Asks for positions; no topics give no responses. From version 2 on a null asks for all.

    ``require_stable``: partitions with offsets in open transactions answer with error
    ``UNSTABLE_OFFSET_COMMIT``; older versions answer with the last stable one.
    """

    API: ClassVar[Api] = OFFSET_FETCH
    RESPONSE: ClassVar[type[Response]] = OffsetFetchResponse

    group_id: String
    topics: Annotated[tuple[OffsetFetchTopic, ...] | None, NullSince(2)]
    require_stable: Annotated[Bool, Since(7)] = False
