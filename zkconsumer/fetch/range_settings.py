"""Settings for reading fixed ranges: plain values that can be sent to another machine. Pure."""

from dataclasses import dataclass

from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.transactions import IsolationLevel

_PURE_EXPANSION = 4
"""Ratio of small records' size as Python objects to their size in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSettings:
    """Configure how ranges are read (sizes in bytes, times in milliseconds).

    Attributes:
        client_id: sent with every request.
        fetch_bytes: the largest request; smaller if less is left of a range.
        growth_max_bytes: limit to which a request may grow for a larger entry.
        timeout_ms: limit for connecting, and for a response; also how long offsets missing from
            the log are retried before they count as lost.
        max_wait_ms: how long the broker waits if it has no data.
        retries: the minimum number of retries after a failure that may be temporary.
        retry_interval_ms: the pause before each of them; it doubles up to a second.
        poll_timeout_ms: reading is retried for this long without progress, whatever ``retries``
            is (Spark's ``kafkaConsumer.pollTimeoutMs``, with the same default): the election of a
            new leader may take until its predecessor's ZooKeeper session ends.
        max_decompressed_bytes: the most that one compressed set may unpack to.
        part_bytes: approximate maximum size of a part's records, uncompressed as in the log,
            whatever a fetched set unpacks to; a single record always fits.
        ahead_bytes: approximate limit of what the pump fetches ahead, uncompressed; no more than
            ``part_bytes``. 0, or less than two megabytes: no pump.
        fail_on_data_loss: whether missing offsets are an error; else they are reported and skipped.
        isolation: with ``READ_COMMITTED`` records of aborted transactions are left out, and the
            log ends before the first open transaction.
    """

    client_id: str = "zkconsumer"
    fetch_bytes: int = 4 * 1024 * 1024
    growth_max_bytes: int = 100 * 1024 * 1024
    timeout_ms: int = 30_000
    max_wait_ms: int = 500
    retries: int = 3
    retry_interval_ms: int = 10
    poll_timeout_ms: int = 120_000
    max_decompressed_bytes: int = 128 * 1024 * 1024
    part_bytes: int = 16 * 1024 * 1024
    ahead_bytes: int = 8 * 1024 * 1024
    fail_on_data_loss: bool = True
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED

    @property
    def unpacked_bytes(self) -> int:
        """Approximate size of what is unpacked of one response at a time, bytes."""
        if ENGINE is Engine.NATIVE:
            return self.part_bytes
        return max(1, self.part_bytes // _PURE_EXPANSION)

    @property
    def taken_bytes(self) -> int:
        """Approximate size of what is taken from a pump's queue at a time, bytes: a response."""
        return min(self.fetch_bytes, self.part_bytes)

    def of_core(self) -> CoreFetchSettings:
        """Return the settings for the fetching core.

        Only one partition is fetched, so its own size alone bounds a response; the reader itself
        counts retries, and pauses between them.
        """
        return CoreFetchSettings(
            max_wait_ms=self.max_wait_ms,
            max_bytes=2**31 - 1,
            max_partition_bytes=self.fetch_bytes,
            growth_max_bytes=max(self.growth_max_bytes, self.fetch_bytes),
            max_decompressed_bytes=self.max_decompressed_bytes,
            unpacked_bytes=self.unpacked_bytes,
            queued_bytes=min(self.ahead_bytes, self.part_bytes),
            request_timeout_ms=self.timeout_ms,
            retry_backoff_ms=0,
            retry_backoff_max_ms=0,
            isolation=self.isolation,
            reset=None,
            sessions=False,
            owner=self.client_id,
        )

    def __post_init__(self) -> None:
        positive = ("fetch_bytes", "growth_max_bytes", "max_decompressed_bytes", "part_bytes")
        for name in (*positive, "timeout_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in (
            "ahead_bytes",
            "max_wait_ms",
            "retries",
            "retry_interval_ms",
            "poll_timeout_ms",
        ):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative: {getattr(self, name)}")
