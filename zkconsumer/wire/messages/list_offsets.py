"""ListOffsets: offsets by timestamp, and the start and end of a log.

v0 returns up to ``max_offsets`` offsets, descending: segment starts not newer than ``timestamp``,
and the end. An empty list means that nothing matched. v1 (0.10.1) returns the first record that is
not older than ``timestamp``, or offset -1 if there is none; for partitions with the message format
of 0.9 or older it supports the two special timestamps alone.
Source: Kafka 0.8.2.2 ``OffsetRequest``, Kafka 3.9 ``ListOffsetsRequest``; KIP-79, KIP-320.
"""

from typing import Annotated

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.absent import NO_EPOCH, NO_OFFSET
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import ApiMessage, Hint, Int8, Int16, Int32, Int64, Since, String, Until

LATEST_TIMESTAMP = -1
"""Requests the offset up to which consumers may read."""

EARLIEST_TIMESTAMP = -2
"""Requests the log start offset."""

MAX_TIMESTAMP = -3
"""Requests the record with the largest timestamp (from version 7 on)."""


class ListOffsetsPartition(ApiMessage):
    """One partition; ``timestamp`` in ms since the epoch, or a special one (see above)."""

    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(4), Hint()] = NO_EPOCH
    timestamp: Int64
    max_offsets: Annotated[Int32, Until(0)] = 1


class ListOffsetsTopic(ApiMessage):
    """The requested partitions of one topic."""

    topic: String
    partitions: tuple[ListOffsetsPartition, ...]


class ListedPartition(ApiMessage):
    """The offsets of one partition, the largest first; from version 1 on a single offset."""

    partition: Int32
    error_code: Int16
    offsets: Annotated[tuple[Int64, ...], Until(0)] = ()
    timestamp: Annotated[Int64, Since(1)] = NO_OFFSET
    offset: Annotated[Int64, Since(1)] = NO_OFFSET
    leader_epoch: Annotated[Int32, Since(4)] = NO_EPOCH


class ListedTopic(ApiMessage):
    """The results for one topic."""

    topic: String
    partitions: tuple[ListedPartition, ...]


class ListOffsetsResponse(Response, api=APIS[ApiKey.LIST_OFFSETS]):
    """One result for each requested partition."""

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[ListedTopic, ...]


class ListOffsetsRequest(Request[ListOffsetsResponse]):
    """Sent to the leader of all these partitions.

    With ``isolation_level`` 1 the end is the last stable offset. Brokers that lack the field
    (before 0.11) have no transactions, so both ends are the same there.
    """

    replica_id: Int32 = CONSUMER_REPLICA_ID
    isolation_level: Annotated[Int8, Since(2), Hint()] = 0
    topics: tuple[ListOffsetsTopic, ...]
