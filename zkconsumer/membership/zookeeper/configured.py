"""A ZooKeeper member from its configuration: its name, its session, its settings."""

import socket
import uuid
from typing import Protocol

from zkconsumer.clock import Clock
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.zk.store import ZkStore


class OpenZookeeperSession(Protocol):
    """The function that opens a ZooKeeper session; see ``kazoo_store.connect``."""

    def __call__(
        self,
        zookeeper_connect: str,
        /,
        *,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        security: ZookeeperSecurity,
    ) -> ZkStore:
        """Connect."""
        ...


def new_consumer_id(config: ConsumerConfig, clock: Clock) -> str:
    """Return the member's name: group, host, milliseconds, eight hex digits of a random UUID.

    Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector``, which names its members likewise.
    """
    if config.consumer_id is not None:
        return f"{config.group_id}_{config.consumer_id}"
    upper_half = f"{uuid.uuid4().int >> 64:x}"
    return f"{config.group_id}_{socket.gethostname()}-{clock.wall_ms()}-{upper_half[:8]}"


def rebalance_settings(
    config: ConsumerConfig, consumer_id: str, store: ZkStore
) -> RebalanceSettings:
    """Return the rebalance settings of the configuration, for the session in force."""
    return RebalanceSettings(
        consumer_id=consumer_id,
        strategy=config.partition_assignment_strategy,
        max_retries=config.rebalance_max_retries,
        backoff_ms=config.rebalance_backoff_ms,
        session_timeout_ms=store.negotiated_timeout_ms,
        audit_interval_ms=config.owner_audit_interval_ms,
    )
