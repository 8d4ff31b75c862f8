"""The settings of fetching, taken out of the configuration once."""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import LATEST, LogEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How a fetcher asks (all sizes in bytes, all times in milliseconds).

    Attributes:
        fetch_bytes: per partition and request, ``fetch.message.max.bytes``.
        grown_bytes: how far that grows for a partition that is far behind; 0: it does not.
        growth_max_bytes: how far that grows for a partition whose next message is larger.
        response_max_bytes: the most to ask for in one request, ``fetch.max.bytes``; a single entry
            that is larger comes all the same, and no partition is asked for less than 4 KiB.
        skip_poison: go on behind what can't be read, where that is possible; what the stream does
            with it then is ``poison.policy``.
        max_decompressed_bytes: the most that one answer of one partition may unpack to.
        min_bytes: the broker waits for this much, ``fetch.min.bytes``.
        max_wait_ms: but not longer than this, ``fetch.wait.max.ms``.
        request_timeout_ms: without an answer for this long the broker counts as gone.
        reset: ``auto.offset.reset``.
        leader_backoff_ms: the pause between looks for leaders, ``refresh.leader.backoff.ms``.
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
