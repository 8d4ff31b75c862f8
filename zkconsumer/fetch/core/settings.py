"""Settings for fetching, taken from the configuration once. Pure."""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import LATEST, LogEdge
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import IsolationLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreFetchSettings:
    """Configure fetching by any reader (sizes in bytes, times in milliseconds).

    Attributes:
        min_bytes: a broker waits until it has this much, ``fetch.min.bytes``.
        max_wait_ms: the longest that it waits, ``fetch.max.wait.ms``.
        max_bytes: limit of a response, ``fetch.max.bytes``; its first batch may be larger. Of a
            poll as much may be buffered per broker.
        max_partition_bytes: the usual size of a partition's request,
            ``max.partition.fetch.bytes``; for streams ``fetch.message.max.bytes``.
        grown_bytes: limit of growth for a partition that is far behind; 0: no growth.
        shares_growth: whether the partitions of a request that are far behind share
            ``grown_bytes``; else each may grow to it.
        growth_max_bytes: limit of growth for a partition whose next message is larger; only
            brokers before 0.10.1 need it, newer ones send a whole batch whatever its size.
        max_decompressed_bytes: the most that one response may unpack to, per partition.
        request_timeout_ms: a broker without a response for this long counts as lost.
        isolation: whether records of open and aborted transactions are left out.
        client_rack: the rack of the caller, to be served by the nearest replica (KIP-392).
        unpacked_bytes: about how much of a response is unpacked at a time; the rest stays
            packed. None: twice ``max_bytes``, and the rest is fetched again. 0: nothing, until the
            reader has capacity for a piece.
        queued_bytes: limit of the queue that the pump fills of a partition; 0: no pump.
        retry_backoff_ms: the first pause after a failure; each further one doubles it.
        retry_backoff_max_ms: the longest of these pauses.
        reset: where to continue when the position is out of range or its part of the log was
            truncated; None (``auto.offset.reset=none``): the caller gets an error instead.
        sessions: whether to use incremental fetch sessions (KIP-227).
        epochs: whether requests name the epoch of the last record, so that the leader can detect
            that its log diverged (KIP-595).
        owner: the group or client that has the positions, for messages.
        kept_codec: batches of this codec are also kept as received, for a caller that copies them.
    """

    min_bytes: int = 1
    max_wait_ms: int = 500
    max_bytes: int = 50 * 1024 * 1024
    max_partition_bytes: int = 1024 * 1024
    grown_bytes: int = 0
    shares_growth: bool = False
    growth_max_bytes: int = 100 * 1024 * 1024
    max_decompressed_bytes: int = 128 * 1024 * 1024
    request_timeout_ms: int = 30_000
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    client_rack: str = ""
    unpacked_bytes: int | None = None
    queued_bytes: int = 16 * 1024 * 1024
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reset: LogEdge | None = LATEST
    sessions: bool = True
    epochs: bool = True
    owner: str = "consumer"
    kept_codec: Codec = Codec.NONE

    @property
    def is_unpacked_on_demand(self) -> bool:
        """Whether sets stay packed until the reader has capacity, as those of streams do."""
        return self.unpacked_bytes == 0
