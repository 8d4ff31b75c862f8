"""Fetch: message sets from given offsets on.

v0 is all that 0.8 brokers know. They answer at once if anything is wrong, else when ``min_bytes``
are there or ``max_wait_ms`` is over. A set is cut off where ``max_bytes`` end, in mid-message.
Source: Kafka 0.8.2.2 ``FetchRequest``, ``FetchResponse``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, Records, String

FETCH = Api(key=ApiKey.FETCH, last=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPartition:
    """What is wanted of one partition."""

    partition: Int32
    fetch_offset: Int64
    max_bytes: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTopic:
    """What is wanted of one topic."""

    topic: String
    partitions: tuple[FetchPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    """One partition's answer; ``records`` is a view into the frame, cut where the bytes ended.

    ``high_watermark`` is -1 with an error.
    """

    partition: Int32
    error_code: Int16
    high_watermark: Int64
    records: Records


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[FetchedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse(Response):
    """One answer for each partition that was asked for."""

    API: ClassVar[Api] = FETCH

    topics: tuple[FetchedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(Request[FetchResponse]):
    """Asks the leader of all these partitions."""

    API: ClassVar[Api] = FETCH
    RESPONSE: ClassVar[type[Response]] = FetchResponse

    replica_id: Int32 = CONSUMER_REPLICA_ID
    max_wait_ms: Int32
    min_bytes: Int32
    topics: tuple[FetchTopic, ...]
