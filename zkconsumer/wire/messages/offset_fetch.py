"""OffsetFetch: reads a group's committed offsets.

v0 and v1 have the same layout: v0 reads ZooKeeper (any broker; error 3 if nothing is stored), v1
the offsets topic (coordinator only; offset -1 without error if nothing is stored). v2 (0.10.2) can
request all partitions, and has a top-level error; v5 has leader epochs; v7 (2.5) can wait for open
transactions. v8, for several groups, is of no use to a consumer.
Source: Kafka 0.8.2.2 and 3.9 ``OffsetFetchRequest``; KIP-88, KIP-320, KIP-447.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Int16,
    Int32,
    Int64,
    LenientString,
    NullSince,
    Since,
    String,
)

OFFSET_FETCH = APIS[ApiKey.OFFSET_FETCH]


class OffsetFetchTopic(ApiMessage):
    """The partitions of one topic to look up."""

    topic: String
    partitions: tuple[Int32, ...]


class OffsetFetchedPartition(ApiMessage):
    """One committed offset: the next to read, -1 if none is stored."""

    partition: Int32
    offset: Int64
    leader_epoch: Annotated[Int32, Since(5)] = -1
    metadata: LenientString
    error_code: Int16


class OffsetFetchedTopic(ApiMessage):
    """The committed offsets of one topic."""

    topic: String
    partitions: tuple[OffsetFetchedPartition, ...]


class OffsetFetchResponse(Response, api=OFFSET_FETCH):
    """One committed offset for each requested partition.

    An error of the whole request is in each result up to version 1, later in ``error_code``.
    """

    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    topics: tuple[OffsetFetchedTopic, ...]
    error_code: Annotated[Int16, Since(2)] = 0


class OffsetFetchRequest(Request[OffsetFetchResponse]):
    """Requests committed offsets; an empty list requests none. From version 2 on null means all.

    ``require_stable``: partitions whose offsets are part of an open transaction have error
        ``UNSTABLE_OFFSET_COMMIT``; older versions return the offset committed before it.
    """

    group_id: String
    topics: Annotated[tuple[OffsetFetchTopic, ...] | None, NullSince(2)]
    require_stable: Annotated[Bool, Since(7)] = False
