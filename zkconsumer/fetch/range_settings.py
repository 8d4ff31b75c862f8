"""The settings of reading fixed ranges: plain values that can be sent to another machine. Pure."""

from dataclasses import dataclass

from zkconsumer.fetch.core.settings import PollFetchSettings
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.transactions import IsolationLevel

_PURE_EXPANSION = 4
"""How much larger than in the log small records are as Python objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSettings:
    """How ranges are read (all sizes in bytes, all times in milliseconds).

    Attributes:
        client_id: sent with every request.
        fetch_bytes: the most to ask for at once; less where less is left of a range.
        growth_max_bytes: how far that grows for an entry that is larger.
        timeout_ms: how long connecting, or one answer, may take; and for how long what is not in
            the log is looked for before it counts as lost.
        max_wait_ms: how long the broker waits where there is nothing to answer with.
        retries: the least number of further tries after a failure that may pass.
        retry_interval_ms: the pause before each of them; it doubles up to a second.
        poll_timeout_ms: reading goes on trying for so long without progress, whatever ``retries``
            says (Spark's ``kafkaConsumer.pollTimeoutMs``, of the same default): a new leader may
            take as long as its predecessor's ZooKeeper session.
        max_decompressed_bytes: the most that one compressed set may unpack to.
        part_bytes: about how much the records of a part may take, as they would lie in the log
            uncompressed, whatever what was fetched unpacks to; a single record always fits.
        fail_on_data_loss: whether offsets that are not there are an error, or passed over.
        isolation: with ``READ_COMMITTED`` records of aborted transactions do not come, and the log
            ends in front of the first transaction that is open.
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
    fail_on_data_loss: bool = True
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED

    @property
    def unpacked_bytes(self) -> int:
        """About how much of one answer is unpacked at a time."""
        if ENGINE is Engine.NATIVE:
            return self.part_bytes
        return max(1, self.part_bytes // _PURE_EXPANSION)

    def of_engine(self) -> PollFetchSettings:
        """Make the settings of what fetches.

        One partition is asked for, so no answer is bounded but by what is asked of it; and whoever
        reads a range counts its tries and pauses between them itself.
        """
        return PollFetchSettings(
            max_wait_ms=self.max_wait_ms,
            max_bytes=2**31 - 1,
            max_partition_bytes=self.fetch_bytes,
            growth_max_bytes=max(self.growth_max_bytes, self.fetch_bytes),
            max_decompressed_bytes=self.max_decompressed_bytes,
            unpacked_bytes=self.unpacked_bytes,
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
        for name in ("max_wait_ms", "retries", "retry_interval_ms", "poll_timeout_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative: {getattr(self, name)}")
