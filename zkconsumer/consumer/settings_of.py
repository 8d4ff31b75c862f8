"""Converts the configuration into the settings of other layers. Pure."""

from zkconsumer.consumer.config import PollConfig
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge
from zkconsumer.records.transactions import IsolationLevel


def isolation_of(config: PollConfig) -> IsolationLevel:
    """Return the isolation level of fetches."""
    return IsolationLevel[config.isolation_level.upper()]


def policy_of(config: PollConfig) -> LogEdge | None:
    """Return the reset policy for partitions without a position; None: raise to the caller."""
    return {"earliest": EARLIEST, "latest": LATEST}.get(config.auto_offset_reset)


def fetch_settings_of(config: PollConfig) -> CoreFetchSettings:
    """Return the settings of the fetch engine."""
    return CoreFetchSettings(
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_max_wait_ms,
        max_bytes=config.fetch_max_bytes,
        max_partition_bytes=config.max_partition_fetch_bytes,
        grown_bytes=_grown_bytes(config),
        shares_growth=True,
        growth_max_bytes=config.fetch_message_growth_max_bytes,
        max_decompressed_bytes=config.fetch_max_decompressed_bytes,
        request_timeout_ms=config.request_timeout_ms,
        retry_backoff_ms=config.retry_backoff_ms,
        retry_backoff_max_ms=config.retry_backoff_max_ms,
        isolation=isolation_of(config),
        reset=policy_of(config),
        client_rack=config.client_rack,
        sessions=config.enable_incremental_fetch_sessions,
        owner=f"consumer {config.client_id}"
        if config.group_id is None
        else f"group {config.group_id}",
    )


def _grown_bytes(config: PollConfig) -> int:
    """Return the limit of growth, so that a response is not larger than what is accepted."""
    accepted_bytes = max(config.max_partition_fetch_bytes, config.receive_message_max_bytes // 2)
    return min(config.fetch_message_catch_up_max_bytes, accepted_bytes)
