"""Settings for fetching for streams, taken from the configuration once."""

from dataclasses import dataclass

from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import LATEST, LogEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings(CoreFetchSettings):
    """Configure a fetcher of streams.

    A set is unpacked only once its queue has capacity, and the leader finder does the pausing.

    Attributes:
        skip_poison: whether to continue after unreadable entries, if possible; the stream handles
            them according to ``poison.policy``.
        reset: ``auto.offset.reset``.
        leader_backoff_ms: the pause between leader lookups, ``refresh.leader.backoff.ms``.
        fetcher_count: fetchers for each broker, ``num.consumer.fetchers``.
    """

    max_wait_ms: int = 100
    unpacked_bytes: int | None = 0
    retry_backoff_ms: int = 0
    retry_backoff_max_ms: int = 0
    reset: LogEdge = LATEST
    sessions: bool = False
    epochs: bool = False
    skip_poison: bool = False
    leader_backoff_ms: int = 200
    fetcher_count: int = 1
