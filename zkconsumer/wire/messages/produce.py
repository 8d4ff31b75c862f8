"""Produce: appends message sets.

With ``acks`` 0 a broker never answers; it closes the connection where something is wrong.
Source: Kafka 0.8.2.2 ``ProducerRequest``, ``ProducerResponse``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, RecordsToSend, String

PRODUCE = Api(key=ApiKey.PRODUCE, last=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducePartition:
    """What one partition gets; the offsets inside are ignored. Decoded, a view into the frame."""

    partition: Int32
    records: RecordsToSend


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceTopic:
    """What one topic gets."""

    topic: String
    partitions: tuple[ProducePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedPartition:
    """What became of one set; ``base_offset`` is its first message's, -1 with an error."""

    partition: Int32
    error_code: Int16
    base_offset: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[ProducedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse(Response):
    """One answer for each set."""

    API: ClassVar[Api] = PRODUCE

    topics: tuple[ProducedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest(Request[ProduceResponse]):
    """Appends; ``acks`` 1 waits for the leader, -1 for the in-sync replicas, 0 for nobody."""

    API: ClassVar[Api] = PRODUCE
    RESPONSE: ClassVar[type[Response]] = ProduceResponse

    acks: Int16
    timeout_ms: Int32
    topics: tuple[ProduceTopic, ...]
