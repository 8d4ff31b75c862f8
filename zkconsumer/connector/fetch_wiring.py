"""Wires up the fetching side of a connector out of its configuration."""

import random
from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.brokers import BrokerList
from zkconsumer.fetch.leader_finder import ClusterAccess
from zkconsumer.fetch.manager import FetchManager
from zkconsumer.fetch.settings import FetchSettings, ResetPolicy
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.observe import Observation
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.registry import GroupRegistry


def wire_fetching(
    config: ConsumerConfig,
    registry: GroupRegistry,
    scope: ThreadScope,
    *,
    clock: Clock,
    observation: Observation,
    on_death: Callable[[BaseException], None],
) -> FetchManager:
    """Everything from the brokers' addresses to the chunk queues; no thread runs yet."""
    tcp = TcpConnector(receive_buffer_bytes=config.socket_receive_buffer_bytes)
    connector = BrokerConnector(
        tcp,
        client_id=config.client_id,
        timeout_ms=config.socket_timeout_ms,
    )
    metadata = MetadataReader(
        connector.open, timeout_ms=config.socket_timeout_ms, shuffle=random.shuffle
    )

    def stop() -> None:
        tcp.stop()
        metadata.stop()

    return FetchManager(
        access=ClusterAccess(
            list_brokers=BrokerList(registry).read,
            read_metadata=metadata.read,
            open_connection=connector.open,
            stop=stop,
        ),
        settings=_fetch_settings(config),
        scope=scope,
        clock=clock,
        on_death=on_death,
        observation=observation,
    )


def _fetch_settings(config: ConsumerConfig) -> FetchSettings:
    smallest = config.auto_offset_reset == "smallest"
    return FetchSettings(
        fetch_bytes=config.fetch_message_max_bytes,
        growth_max_bytes=config.fetch_message_growth_max_bytes,
        max_decompressed_bytes=config.fetch_max_decompressed_bytes,
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_wait_max_ms,
        request_timeout_ms=config.socket_timeout_ms,
        reset=ResetPolicy.SMALLEST if smallest else ResetPolicy.LARGEST,
        leader_backoff_ms=config.refresh_leader_backoff_ms,
        fetcher_count=config.num_consumer_fetchers,
        response_max_bytes=config.fetch_max_bytes,
        skip_poison=config.poison_policy != "raise",
    )
