"""The settings of fetching for a poll, taken out of the configuration once. Pure."""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import LATEST, ResetPolicy
from zkconsumer.records.fetched import IsolationLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class PollFetchSettings:
    """How to fetch (all sizes in bytes, all times in milliseconds).

    Attributes:
        min_bytes: a broker that has less than this waits, ``fetch.min.bytes``.
        max_wait_ms: but not longer than this, ``fetch.max.wait.ms``.
        max_bytes: of one answer, ``fetch.max.bytes``; its first batch comes whatever its size.
            So much may wait for the caller, of each broker, before fetching ahead pauses.
        max_partition_bytes: of one partition in one answer, ``max.partition.fetch.bytes``.
        growth_max_bytes: how far that grows for a partition whose next message is larger; only
            brokers before 0.10.1 need it, newer ones send a whole batch whatever its size.
        max_decompressed_bytes: the most that one answer of one partition may unpack to.
        unpacked_bytes: about how much of one answer is unpacked at a time; what is behind that
            stays packed. None: twice ``max_bytes``, and what is behind that is fetched again.
        request_timeout_ms: without an answer for so long the broker counts as gone.
        retry_backoff_ms: the first pause after a failure; each further one doubles it.
        retry_backoff_max_ms: the longest of these pauses.
        isolation: whether records of open and aborted transactions are left out.
        reset: where to go on when the position is out of range or its part of the log was
            truncated; None (``auto.offset.reset=none``) raises it to the caller instead.
        client_rack: where the caller is, to be served by the nearest replica (KIP-392).
        sessions: whether to tell brokers only what changed since the last fetch (KIP-227).
        check_crcs: accepted as other clients have it; checksums are always verified.
        owner: whose positions they are, for messages: the group, or the client.
    """

    min_bytes: int = 1
    max_wait_ms: int = 500
    max_bytes: int = 50 * 1024 * 1024
    max_partition_bytes: int = 1024 * 1024
    growth_max_bytes: int = 100 * 1024 * 1024
    max_decompressed_bytes: int = 128 * 1024 * 1024
    unpacked_bytes: int | None = None
    request_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    reset: ResetPolicy | None = LATEST
    client_rack: str = ""
    sessions: bool = True
    check_crcs: bool = True
    owner: str = "consumer"
