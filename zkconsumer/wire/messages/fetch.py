"""Fetch: record sets from given offsets on.

v0 is the only version of 0.8 brokers. They respond immediately on an error, else when ``min_bytes``
are available or ``max_wait_ms`` have passed. A set is truncated at ``max_bytes``, even within a
message. v2 (0.10.0) has magic 1, v3 (0.10.1) a limit on the whole response, and at least one whole
message; v4 (0.11) magic 2 and transactions, v7 (1.1) sessions, v9 (2.1) leader epochs, v10 (2.1)
zstd, v11 (2.3) the replica of the rack, v12 (2.7) the offset where a log diverged. v13 (3.1) has
topic ids, so that a topic that was deleted and created again is not taken for the former one.
Source: Kafka 0.8.2.2 and 3.9 ``FetchRequest``, ``FetchResponse``; KIP-74, KIP-98, KIP-227, KIP-320,
KIP-392, KIP-516, KIP-595.
"""

from typing import Annotated

from zkconsumer.model import CONSUMER_REPLICA_ID
from zkconsumer.wire.absent import NO_BROKER, NO_EPOCH, NO_OFFSET, NO_TOPIC_ID
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Hint,
    Int8,
    Int16,
    Int32,
    Int64,
    NullableString,
    NullSince,
    Records,
    Since,
    String,
    Tagged,
    Until,
    Uuid,
)

FETCH = APIS[ApiKey.FETCH]

LAST_BY_NAME = 12
"""The last version that identifies topics by name: for callers without their ids."""

FIRST_SOFT_BOUNDS = 3
"""The first version with a limit on the whole response, whose first batch is never truncated."""

FIRST_UNTHROTTLED = 8
"""From this version on the broker responds without delay, and leaves throttling to the client."""

NO_SESSION = 0
"""The session id of a fetch without a session, or of one that starts a session."""

SESSIONLESS_EPOCH = -1
"""The session epoch of a full fetch without a session; closes the named one."""

FIRST_EPOCH = 0
"""The session epoch of a full fetch that starts a session; the next one is 1."""


class FetchPartition(ApiMessage):
    """The fetch position of one partition.

    With ``last_fetched_epoch`` (the epoch of the last record read) the broker itself detects that
    the log was truncated below the offset. ``log_start_offset`` is for replicas.
    """

    partition: Int32
    current_leader_epoch: Annotated[Int32, Since(9), Hint()] = NO_EPOCH
    fetch_offset: Int64
    last_fetched_epoch: Annotated[Int32, Since(12), Hint()] = NO_EPOCH
    log_start_offset: Annotated[Int64, Since(5), Hint()] = NO_OFFSET
    max_bytes: Int32


class FetchTopic(ApiMessage):
    """The partitions of one topic; from version 13 on its id replaces its name."""

    topic: Annotated[String, Until(12), Hint()] = ""
    topic_id: Annotated[Uuid, Since(13), Hint()] = NO_TOPIC_ID
    partitions: tuple[FetchPartition, ...]


class ForgottenTopic(ApiMessage):
    """Partitions to remove from the session; from version 13 on with the topic's id."""

    topic: Annotated[String, Until(12), Hint()] = ""
    topic_id: Annotated[Uuid, Since(13), Hint()] = NO_TOPIC_ID
    partitions: tuple[Int32, ...]


class DivergingEpoch(ApiMessage):
    """The largest epoch that the log has in common with the records read, and its end offset."""

    epoch: Int32 = NO_EPOCH
    end_offset: Int64 = NO_OFFSET


class CurrentLeader(ApiMessage):
    """The partition's leader, if the responding broker is not it."""

    leader_id: Int32 = NO_BROKER
    leader_epoch: Int32 = NO_EPOCH


class SnapshotId(ApiMessage):
    """A snapshot of the cluster metadata log; never of a topic that a consumer reads."""

    end_offset: Int64 = NO_OFFSET
    epoch: Int32 = NO_EPOCH


class AbortedTransaction(ApiMessage):
    """An aborted transaction, from ``first_offset`` to its abort marker."""

    producer_id: Int64
    first_offset: Int64


NO_DIVERGENCE = DivergingEpoch()
NO_NEW_LEADER = CurrentLeader()
NO_SNAPSHOT = SnapshotId()


class FetchedPartition(ApiMessage):
    """The result for one partition; ``records`` is a view into the frame, truncated at the limit.

    ``high_watermark`` is -1 with an error. ``aborted_transactions`` is None unless the isolation
    level is ``READ_COMMITTED``; their order is undefined. A ``preferred_read_replica`` comes
    without records: fetch them from that replica.
    """

    partition: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Annotated[Int64, Since(4)] = NO_OFFSET
    log_start_offset: Annotated[Int64, Since(5)] = NO_OFFSET
    diverging_epoch: Annotated[DivergingEpoch, Since(12), Tagged(0)] = NO_DIVERGENCE
    current_leader: Annotated[CurrentLeader, Since(12), Tagged(1)] = NO_NEW_LEADER
    snapshot_id: Annotated[SnapshotId, Since(12), Tagged(2)] = NO_SNAPSHOT
    aborted_transactions: Annotated[
        tuple[AbortedTransaction, ...] | None, NullSince(4), Since(4)
    ] = None
    preferred_read_replica: Annotated[Int32, Since(11)] = NO_BROKER
    records: Records


class FetchedTopic(ApiMessage):
    """The results for one topic; from version 13 on its id replaces its name."""

    topic: Annotated[String, Until(12)] = ""
    topic_id: Annotated[Uuid, Since(13)] = NO_TOPIC_ID
    partitions: tuple[FetchedPartition, ...]


class FetchResponse(Response, api=FETCH):
    """The results for all requested partitions; in a session, for those that changed.

    ``session_id`` is 0 if the broker starts no session. An ``error_code`` concerns the session.
    """

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Annotated[Int16, Since(7)] = 0
    session_id: Annotated[Int32, Since(7)] = NO_SESSION
    topics: tuple[FetchedTopic, ...]


class FetchRequest(Request[FetchResponse]):
    """Sent to the leader of all these partitions.

    In a session (KIP-227) ``topics`` holds added or changed partitions, ``forgotten_topics``
    removed ones. ``max_bytes`` limits the whole response, except its first batch.
    """

    replica_id: Int32 = CONSUMER_REPLICA_ID
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Annotated[Int32, Since(3), Hint()] = (1 << 31) - 1
    isolation_level: Annotated[Int8, Since(4), Hint()] = 0
    session_id: Annotated[Int32, Since(7)] = NO_SESSION
    session_epoch: Annotated[Int32, Since(7), Hint()] = SESSIONLESS_EPOCH
    topics: tuple[FetchTopic, ...]
    forgotten_topics: Annotated[tuple[ForgottenTopic, ...], Since(7)] = ()
    rack_id: Annotated[String, Since(11), Hint()] = ""
    cluster_id: Annotated[NullableString, Since(12), Tagged(0), Hint()] = None
