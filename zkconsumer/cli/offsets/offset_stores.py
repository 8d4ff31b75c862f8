"""ZooKeeper and the brokers, opened for a migration of offsets."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from zkconsumer.cli.cluster_access import (
    broker_settings,
    client_of,
    open_dialer,
    zookeeper_security,
)
from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.migration.group_offset_store import GroupOffsetStore
from zkconsumer.offsets.migration.in_kafka import KafkaGroupOffsets
from zkconsumer.offsets.migration.in_zookeeper import ZookeeperGroupOffsets
from zkconsumer.offsets.migration.migrate import MigratedGroup
from zkconsumer.offsets.migration.plan import MigrationPlan, OffsetStorage, outside_the_log
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.live_brokers import live_brokers, require_cluster

_SESSION_MS = 20_000


@dataclass(frozen=True, slots=True)
class OpenOffsetStores:
    """Both places of one group, open."""

    group_id: str
    zookeeper: ZookeeperGroupOffsets
    kafka: KafkaGroupOffsets

    @property
    def group(self) -> MigratedGroup:
        """The group, whose members either place may know of."""
        return MigratedGroup.of(self.group_id, self.zookeeper, self.kafka)

    def of(self, storage: OffsetStorage) -> GroupOffsetStore:
        """Return the one of this name."""
        return self.zookeeper if storage is OffsetStorage.ZOOKEEPER else self.kafka

    def notes(self, plan: MigrationPlan) -> tuple[str, ...]:
        """Return what the user should know of the offsets that are carried."""
        return tuple(outside_the_log(plan, self.kafka.logs(plan.expected)))

    def partitions(self) -> frozenset[TopicPartition]:
        """Return those that the cluster has, by the word of either.

        A broker that has just started knows of no topics for a moment; their offsets would be left
        out.
        """
        return self.kafka.partitions() | self.zookeeper.partitions()


@contextmanager
def open_stores(
    args: argparse.Namespace, group_id: str, zookeeper: str
) -> Iterator[OpenOffsetStores]:
    """Connect to ZooKeeper; brokers are connected to when they are asked.

    Raises:
        ConfigError: the servers, the group or the file can't be used.
        RegistryError: ZooKeeper does not answer, or names no broker that can be reached.
    """
    settings = broker_settings(args, timeout_ms=DEFAULT_TIMEOUT_MS)
    with ExitStack() as stack:
        store = kazoo_store.connect(
            zookeeper,
            session_timeout_ms=_SESSION_MS,
            connection_timeout_ms=_SESSION_MS,
            security=zookeeper_security(args),
        )
        stack.callback(store.close)
        in_zookeeper = ZookeeperGroupOffsets(store, group_id)
        dialer = stack.enter_context(open_dialer(settings))
        require_cluster(store, zookeeper)
        brokers = settings.bootstrap or live_brokers(store, zookeeper, settings.security.protocol)
        client = client_of(dialer, brokers, DEFAULT_TIMEOUT_MS)
        stack.callback(client.stop)
        in_kafka = KafkaGroupOffsets(client, dialer, group_id)
        stack.callback(in_kafka.close)
        yield OpenOffsetStores(group_id, in_zookeeper, in_kafka)
