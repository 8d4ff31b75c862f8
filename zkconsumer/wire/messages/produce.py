"""Produce: appends message sets, or from version 3 on batches.

With ``acks`` 0 a broker never answers; it closes the connection where something is wrong.

v1 (0.9) came with quotas, v2 (0.10) with message sets of magic 1, v3 (0.11) with batches of magic 2
and nothing else, v7 (2.1) with zstd (KIP-110), v8 (2.4) with words about what is refused (KIP-467),
v9 (2.4) with compact lengths. Kafka 4 serves 3 and later, although it names older ones, too
(KIP-896, KAFKA-18659). Source: Kafka 0.8.2.2 ``ProducerRequest``, ``ProducerResponse``; Kafka 3.9
``ProduceRequest``.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    Int16,
    Int32,
    Int64,
    NullableString,
    RecordsToSend,
    Since,
    String,
)

PRODUCE = Api(key=ApiKey.PRODUCE, last=9, flexible=9)

FIRST_WITH_TIMESTAMPS = 2
"""The first version that carries message sets of magic 1."""

FIRST_WITH_BATCHES = 3
"""The first version that carries batches of magic 2, and takes nothing else."""

FIRST_WITH_ZSTD = 7
"""The first version in which a batch may be compressed with zstd."""


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
class RefusedRecord:
    """A record for which a whole batch was refused, by its place in it."""

    batch_index: Int32
    batch_index_error_message: NullableString = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedPartition:
    """What became of one set; ``base_offset`` is its first message's, -1 with an error."""

    partition: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Annotated[Int64, Since(2)] = -1
    log_start_offset: Annotated[Int64, Since(5)] = -1
    record_errors: Annotated[tuple[RefusedRecord, ...], Since(8)] = ()
    error_message: Annotated[NullableString, Since(8)] = None


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
    throttle_time_ms: Annotated[Int32, Since(1)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest(Request[ProduceResponse]):
    """Appends; ``acks`` 1 waits for the leader, -1 for the in-sync replicas, 0 for nobody."""

    API: ClassVar[Api] = PRODUCE
    RESPONSE: ClassVar[type[Response]] = ProduceResponse

    transactional_id: Annotated[NullableString, Since(3)] = None
    acks: Int16
    timeout_ms: Int32
    topics: tuple[ProduceTopic, ...]
