"""ListOffsets: where a partition starts and ends.

v0 answers with up to ``max_offsets`` offsets, descending: segment starts not newer than
``timestamp``, and the end. An empty list is a normal answer: nothing matched. v1 (0.10.1) answers
with the first record that is not older than ``timestamp``, offset -1 where there is none; on
partitions with the message format of 0.9 or older it knows the two special timestamps alone.
Source: Kafka 0.8.2.2 ``OffsetRequest``, Kafka 3.9 ``ListOffsetsRequest``; KIP-79, KIP-320.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Hint, Int8, Int16, Int32, Int64, Since, String, Until

LIST_OFFSETS = Api(key=ApiKey.LIST_OFFSETS, last=7, flexible=6)

LATEST_TIMESTAMP = -1
"""Asks for the offset that the next message will get, as far as consumers may read."""

EARLIEST_TIMESTAMP = -2
"""Asks for the oldest offset that is still there."""

MAX_TIMESTAMP = -3
"""Asks for the record with the largest timestamp (from version 7 on)."""

NO_OFFSET = -1
"""The offset and the timestamp where no record matches; the timestamp of the two ends."""

NO_EPOCH = -1
"""A leader epoch that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsPartition:
    """One partition; ``timestamp`` in ms since the epoch, or one of the two above."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(4), Hint()] = NO_EPOCH
    timestamp: Int64
    max_offsets: Annotated[Int32, Until(0)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsTopic:
    """What is wanted of one topic."""

    topic: String
    partitions: tuple[ListOffsetsPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPartition:
    """One partition's offsets, the newest first; from version 1 on, its one offset."""

    partition: Int32
    error_code: Int16
    offsets: Annotated[tuple[Int64, ...], Until(0)] = ()
    timestamp: Annotated[Int64, Since(1)] = NO_OFFSET
    offset: Annotated[Int64, Since(1)] = NO_OFFSET
    leader_epoch: Annotated[Int32, Since(4)] = NO_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTopic:
    """One topic's answers."""

    topic: String
    partitions: tuple[ListedPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse(Response):
    """One answer for each partition that was asked for."""

    API: ClassVar[Api] = LIST_OFFSETS

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[ListedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Asks the leader of all these partitions.

    With ``isolation_level`` 1 the end is the last stable offset. Brokers that lack it (before
    0.11) have no transactions, so that it is the same there.
    """

    API: ClassVar[Api] = LIST_OFFSETS
    RESPONSE: ClassVar[type[Response]] = ListOffsetsResponse

    replica_id: Int32 = CONSUMER_REPLICA_ID
    isolation_level: Annotated[Int8, Since(2), Hint()] = 0
    topics: tuple[ListOffsetsTopic, ...]
