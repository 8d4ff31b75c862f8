"""Settings of fetching for streams, taken from the configuration once."""

from dataclasses import dataclass

from zkconsumer.fetch.core.settings import FetchLimits
from zkconsumer.fetch.core.starts import LATEST, LogEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings(FetchLimits):
    """Configure a fetcher; no partition is requested with less than 4 KiB.

    Attributes:
        fetch_bytes: per partition and request, ``fetch.message.max.bytes``.
        skip_poison: whether to go on after unreadable entries, if possible; the stream handles
            them by ``poison.policy``.
        reset: ``auto.offset.reset``.
        leader_backoff_ms: the pause between leader lookups, ``refresh.leader.backoff.ms``.
        fetcher_count: fetchers for each broker, ``num.consumer.fetchers``.
    """

    max_wait_ms: int = 100
    fetch_bytes: int = 1024 * 1024
    skip_poison: bool = False
    reset: LogEdge = LATEST
    leader_backoff_ms: int = 200
    fetcher_count: int = 1
