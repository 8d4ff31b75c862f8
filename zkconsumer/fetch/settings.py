"""Settings of fetching, taken from the configuration once."""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import LATEST, LogEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """Configure a fetcher (sizes in bytes, times in milliseconds).

    Attributes:
        fetch_bytes: per partition and request, ``fetch.message.max.bytes``.
        grown_bytes: limit of its growth for a partition that is far behind; 0: no growth.
        growth_max_bytes: limit of its growth for a partition whose next message is larger.
        response_max_bytes: limit of one request, ``fetch.max.bytes``; a single larger entry
            is returned all the same, and no partition is requested with less than 4 KiB.
        skip_poison: whether to go on after unreadable entries, if possible; the stream handles
            them by ``poison.policy``.
        max_decompressed_bytes: the most that one response may unpack to, per partition.
        min_bytes: the broker waits for this much, ``fetch.min.bytes``.
        max_wait_ms: but not longer than this, ``fetch.wait.max.ms``.
        request_timeout_ms: a broker without a response for this long counts as lost.
        reset: ``auto.offset.reset``.
        leader_backoff_ms: the pause between leader lookups, ``refresh.leader.backoff.ms``.
        fetcher_count: fetchers for each broker, ``num.consumer.fetchers``.
    """

    fetch_bytes: int = 1024 * 1024
    grown_bytes: int = 0
    growth_max_bytes: int = 100 * 1024 * 1024
    response_max_bytes: int = 50 * 1024 * 1024
    skip_poison: bool = False
    max_decompressed_bytes: int = 128 * 1024 * 1024
    min_bytes: int = 1
    max_wait_ms: int = 100
    request_timeout_ms: int = 30_000
    reset: LogEdge = LATEST
    leader_backoff_ms: int = 200
    fetcher_count: int = 1
