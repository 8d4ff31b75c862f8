"""Settings for fetching for streams, taken from the configuration once."""

from dataclasses import dataclass

from zkconsumer.fetch.core.settings import CoreFetchSettings, FetchLimits
from zkconsumer.fetch.core.starts import LATEST, LogEdge


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings(FetchLimits):
    """Configure a fetcher; a partition's part is at least 4 KiB, or ``fetch_bytes`` if less.

    Attributes:
        fetch_bytes: size of a partition's request, ``fetch.message.max.bytes``.
        skip_poison: whether to continue after unreadable entries, if possible; the stream handles
            them according to ``poison.policy``.
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

    def of_core(self) -> CoreFetchSettings:
        """Return the settings for the fetching core.

        A set is unpacked only once its queue has capacity, and the leader finder does the pausing.
        """
        return CoreFetchSettings(
            min_bytes=self.min_bytes,
            max_wait_ms=self.max_wait_ms,
            max_bytes=self.max_bytes,
            grown_bytes=self.grown_bytes,
            growth_max_bytes=self.growth_max_bytes,
            max_decompressed_bytes=self.max_decompressed_bytes,
            request_timeout_ms=self.request_timeout_ms,
            isolation=self.isolation,
            client_rack=self.client_rack,
            max_partition_bytes=self.fetch_bytes,
            unpacked_bytes=0,
            retry_backoff_ms=0,
            retry_backoff_max_ms=0,
            reset=self.reset,
            sessions=False,
            epochs=False,
        )
