"""ZooKeeper and the brokers, opened for a migration of offsets."""

import argparse
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.security import security_of
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.offsets.migration.in_kafka import KafkaPlace
from zkconsumer.offsets.migration.in_zookeeper import ZookeeperPlace
from zkconsumer.offsets.migration.migrate import Group
from zkconsumer.offsets.migration.place import OffsetPlace
from zkconsumer.offsets.migration.plan import Place, Plan, outside_the_log
from zkconsumer.properties_file import load_properties
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.group_reader import read_brokers
from zkconsumer.zk.store import ZkStore

_CLIENT_ID = "zkconsumer-offsets"
_TIMEOUT_MS = 10_000
_BACKOFF_MS = 250
_SESSION_MS = 20_000


@dataclass(frozen=True, slots=True)
class Places:
    """Both places of one group, open."""

    group_id: str
    zookeeper: ZookeeperPlace
    kafka: KafkaPlace

    @property
    def group(self) -> Group:
        """The group, whose members either place may know of."""
        return Group.of(self.group_id, self.zookeeper, self.kafka)

    def of(self, place: Place) -> OffsetPlace:
        """The one of this name."""
        return self.zookeeper if place is Place.ZOOKEEPER else self.kafka

    def notes(self, plan: Plan) -> tuple[str, ...]:
        """What the user should know of the offsets that are carried."""
        return tuple(outside_the_log(plan, self.kafka.logs(plan.expected)))

    def partitions(self) -> frozenset[TopicPartition]:
        """Those that the cluster has, by the word of either.

        A broker that has just started knows of no topics for a moment; their offsets would be left
        out.
        """
        return self.kafka.partitions() | self.zookeeper.partitions()


@contextmanager
def open_places(args: argparse.Namespace, group_id: str, zookeeper: str) -> Iterator[Places]:
    """Connect to ZooKeeper; brokers are connected to when they are asked.

    Raises:
        ConfigError: the servers, the group or the file can't be used.
        RegistryError: ZooKeeper does not answer, or names no broker that can be reached.
    """
    config = _settings(args)
    with ExitStack() as stack:
        store = kazoo_store.connect(
            zookeeper, session_timeout_ms=_SESSION_MS, connection_timeout_ms=_SESSION_MS
        )
        stack.callback(store.close)
        in_zookeeper = ZookeeperPlace(store, group_id)
        dialer = BrokerDialer(
            TcpConnector(),
            client_id=_CLIENT_ID,
            security=security_of(config),
            connect_timeout_ms=_TIMEOUT_MS,
            request_timeout_ms=_TIMEOUT_MS,
        )
        stack.callback(dialer.stop)
        bootstrap = _bootstrap(config, store)
        client = ClusterClient(
            dialer,
            bootstrap,
            request_timeout_ms=_TIMEOUT_MS,
            retry_backoff_ms=_BACKOFF_MS,
            shuffle=random.shuffle,
        )
        stack.callback(client.stop)
        in_kafka = KafkaPlace(client, dialer, group_id)
        stack.callback(in_kafka.close)
        yield Places(group_id, in_zookeeper, in_kafka)


def _settings(args: argparse.Namespace) -> PollConfig:
    """The file's, and the brokers of the command line."""
    file = load_properties(args.command_config) if args.command_config else {}
    return PollConfig(file, bootstrap_servers=args.bootstrap_servers)


def _bootstrap(config: PollConfig, store: ZkStore) -> Sequence[Broker]:
    if "bootstrap.servers" in config.given:
        return config.bootstrap_brokers()
    listed = read_brokers(store, None)
    if not listed.brokers:
        why = "; ".join(listed.malformed.values()) or "none is registered"
        raise ConfigError(f"ZooKeeper names no broker to ask: {why}: give --bootstrap-servers")
    return listed.brokers
