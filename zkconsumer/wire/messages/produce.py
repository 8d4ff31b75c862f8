"""Produce: appends message sets, or record batches from version 3 on.

With ``acks`` 0 a broker never responds; it closes the connection on an error.

v1 (0.9) came with quotas, v2 (0.10) with message sets of magic 1, v3 (0.11) accepts only batches of
magic 2, v7 (2.1) has zstd (KIP-110), v8 (2.4) error messages for refused records (KIP-467), v9
(2.8) compact lengths. Kafka 4 serves 3 and later, although it lists older ones, too (KIP-896,
KAFKA-18659). Source: Kafka 0.8.2.2 ``ProducerRequest``, ``ProducerResponse``; Kafka 3.9
``ProduceRequest``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Int16,
    Int32,
    Int64,
    NullableString,
    RecordsToSend,
    Since,
    String,
)

PRODUCE = APIS[ApiKey.PRODUCE]

FIRST_WITH_TIMESTAMPS = 2
"""The first version with message sets of magic 1."""

FIRST_WITH_BATCHES = 3
"""The first version with batches of magic 2, which accepts nothing else."""

FIRST_WITH_ZSTD = 7
"""The first version with batches compressed by zstd."""


class ProducePartition(ApiMessage):
    """The record set for one partition; its offsets are ignored. Decoded, a view into the frame."""

    partition: Int32
    records: RecordsToSend


class ProduceTopic(ApiMessage):
    """The record sets of one topic."""

    topic: String
    partitions: tuple[ProducePartition, ...]


class RefusedRecord(ApiMessage):
    """A record, by its index, for which the broker refused the batch."""

    batch_index: Int32
    batch_index_error_message: NullableString = None


class ProducedPartition(ApiMessage):
    """The result for one record set: the offset of its first record, -1 with an error."""

    partition: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Annotated[Int64, Since(2)] = -1
    log_start_offset: Annotated[Int64, Since(5)] = -1
    record_errors: Annotated[tuple[RefusedRecord, ...], Since(8)] = ()
    error_message: Annotated[NullableString, Since(8)] = None


class ProducedTopic(ApiMessage):
    """The results for one topic."""

    topic: String
    partitions: tuple[ProducedPartition, ...]


class ProduceResponse(Response, api=PRODUCE):
    """One result for each record set."""

    topics: tuple[ProducedTopic, ...]
    throttle_time_ms: Annotated[Int32, Since(1)] = 0


class ProduceRequest(Request[ProduceResponse]):
    """``acks`` 1 waits for the leader, -1 for the in-sync replicas, 0 for no response."""

    transactional_id: Annotated[NullableString, Since(3)] = None
    acks: Int16
    timeout_ms: Int32
    topics: tuple[ProduceTopic, ...]
