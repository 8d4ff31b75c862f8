"""Creates the offset stores of a connector from its configuration."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from zkconsumer.clock import Clock
from zkconsumer.config import ConsumerConfig
from zkconsumer.net.security import SecuritySettings
from zkconsumer.offsets.coordinator import (
    ChannelSettings,
    CoordinatorChannel,
    offset_dialer,
)
from zkconsumer.offsets.dual import DualOffsetStore
from zkconsumer.offsets.kafka import KafkaOffsetStore
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.offsets.topic_checked import TopicChecked
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.zk.live_brokers import LiveBrokers
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore
from zkconsumer.zk.topic_nodes import topic_czxids

log = logging.getLogger(__name__)


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSide:
    """A connector's offset stores.

    Attributes:
        store: commits offsets of partitions that the member owns, and refuses others.
        unguarded: the same storage for callers that are not members: commits any offset.
        interrupt: interrupts requests in progress, when their session has ended.
        stop_fetching: interrupts fetches of offsets, which a shutdown does not need.
        close: closes the connections.
    """

    store: OffsetStore
    unguarded: OffsetStore
    interrupt: Callable[[], None] = _nothing
    stop_fetching: Callable[[], None] = _nothing
    close: Callable[[], None] = _nothing


def wire_offsets(
    config: ConsumerConfig,
    store: ZkStore,
    registry: GroupRegistry,
    clock: Clock,
    *,
    security: SecuritySettings,
) -> OffsetSide:
    """Create the stores of ``offsets.storage`` and ``dual.commit.enabled``; connect to nothing.

    Args:
        config: the settings.
        store: ZooKeeper.
        registry: reads the brokers and the owners of partitions.
        clock: the time source for deadlines.
        security: TLS and SASL, for connections to the group's coordinator.
    """
    # A commit that is delayed until its session has ended must not overwrite the next owner's.
    in_zookeeper = ZookeeperOffsetStore(store, config.group_id, guard=registry)
    zookeeper_unguarded = ZookeeperOffsetStore(store, config.group_id)
    czxids = partial(topic_czxids, store)
    if config.offsets_storage == "zookeeper":
        return OffsetSide(
            store=TopicChecked(in_zookeeper, czxids),
            unguarded=TopicChecked(zookeeper_unguarded, czxids),
        )
    dialer = offset_dialer(config.client_id, config.offsets_channel_socket_timeout_ms, security)
    channel = CoordinatorChannel(
        config.group_id,
        _channel_settings(config, store.negotiated_timeout_ms),
        list_brokers=LiveBrokers(registry).read,
        dialer=dialer,
        clock=clock,
    )
    retries = config.offsets_commit_max_retries
    in_kafka = KafkaOffsetStore(channel, still_ours=registry.still_ours, commit_max_retries=retries)
    kafka_unguarded = KafkaOffsetStore(channel, commit_max_retries=retries)
    if not config.auto_commit_enable:
        log.warning(
            "group %s: brokers delete offsets that were not committed for a day (their "
            "offsets.retention.minutes), and automatic commits, which renew them, are disabled",
            config.group_id,
        )

    def close() -> None:
        channel.close()
        dialer.stop()

    both = config.dual_commit_enabled
    guarded = DualOffsetStore(in_kafka, in_zookeeper) if both else in_kafka
    unguarded = DualOffsetStore(kafka_unguarded, zookeeper_unguarded) if both else kafka_unguarded
    return OffsetSide(
        store=TopicChecked(guarded, czxids),
        unguarded=TopicChecked(unguarded, czxids),
        interrupt=channel.interrupt,
        stop_fetching=channel.stop_fetching,
        close=close,
    )


def _channel_settings(config: ConsumerConfig, session_timeout_ms: int) -> ChannelSettings:
    """Return the limits of requests to the coordinator.

    The last commit of a shutdown must leave time for the release. A joining member allows two
    session time-outs per attempt, within which the last commit of the former owner must end.
    """
    return ChannelSettings(
        timeout_ms=config.offsets_channel_socket_timeout_ms,
        backoff_ms=config.offsets_channel_backoff_ms,
        limit_ms=max(1, min(config.shutdown_timeout_ms * 2 // 3, 2 * session_timeout_ms)),
    )
