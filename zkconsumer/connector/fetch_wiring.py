"""Assembles the fetching side of a connector from its configuration."""

import random

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config import ConsumerConfig
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.leader_finder import LeaderFinder, LeaderLookup
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.membership.zookeeper.configured import MemberContext
from zkconsumer.membership.zookeeper.threads.messages import ThreadDied
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.live_brokers import LiveBrokers

_EPOCHS_MS = 3_000
"""How long to wait for a new leader to report where an epoch ended; fetching waits meanwhile."""


def wire_fetching(
    context: MemberContext, scope: ThreadScope, security: SecuritySettings
) -> LeaderFinder:
    """Create the components from the brokers' addresses to the chunk queues; start no thread.

    A broker that registered as 0.8 or 0.9 is sent requests of 0.8, without a search for its
    versions, unless the connection uses SASL.

    Args:
        context: see ``MemberContext``; its registry has the addresses for this security protocol.
        scope: owns the threads.
        security: the security settings of all connections to brokers.
    """
    config, clock = context.config, context.clock
    brokers = LiveBrokers(context.registry)
    dialer = BrokerDialer(
        TcpConnector(receive_buffer_bytes=config.socket_receive_buffer_bytes),
        client_id=config.client_id,
        security=security,
        connect_timeout_ms=config.socket_timeout_ms,
        request_timeout_ms=config.socket_timeout_ms,
        clock=clock,
        assumed=brokers.versions_of,
    )
    return LeaderFinder(
        access=_leader_lookup(config, brokers, dialer, clock),
        settings=_fetch_settings(config),
        scope=scope,
        clock=clock,
        on_death=lambda error: context.mailbox.put(ThreadDied(error)),
        observation=context.observation,
    )


def _leader_lookup(
    config: ConsumerConfig, brokers: LiveBrokers, dialer: BrokerDialer, clock: Clock
) -> LeaderLookup:
    """Create the lookup of leaders; its ``stop`` also stops the dialer."""
    cluster = ClusterClient(
        dialer,
        (),
        request_timeout_ms=config.socket_timeout_ms,
        retry_backoff_ms=config.refresh_leader_backoff_ms,
        clock=clock,
        shuffle=random.shuffle,
        idle_per_broker=0,
    )

    def stop() -> None:
        dialer.stop()
        cluster.stop()

    epochs_ms = min(_EPOCHS_MS, config.socket_timeout_ms)
    return LeaderLookup(
        list_brokers=brokers.read,
        read_metadata=cluster.view_by,
        dial=dialer.dial,
        epoch_ends=lambda doubts: cluster.epoch_ends(doubts, timeout_ms=epochs_ms),
        stop=stop,
    )


def _fetch_settings(config: ConsumerConfig) -> FetchSettings:
    smallest = config.auto_offset_reset == "smallest"
    return FetchSettings(
        max_partition_bytes=config.fetch_message_max_bytes,
        grown_bytes=config.fetch_message_catch_up_max_bytes,
        growth_max_bytes=config.fetch_message_growth_max_bytes,
        max_decompressed_bytes=config.fetch_max_decompressed_bytes,
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_wait_max_ms,
        request_timeout_ms=config.socket_timeout_ms,
        reset=LogEdge.EARLIEST if smallest else LogEdge.LATEST,
        leader_backoff_ms=config.refresh_leader_backoff_ms,
        fetcher_count=config.num_consumer_fetchers,
        max_bytes=config.fetch_max_bytes,
        skip_poison=config.poison_policy != "raise",
    )
