"""A cluster, opened for a command: ZooKeeper if there is one, the brokers, snapshots.

Brokers are connected to when they are asked, so a command that needs none of them works while all
are down.
"""

import argparse
import logging
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.cli.without_zookeeper import NEEDS_ZOOKEEPER, address_of
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.errors import ConfigError, RegistryError, ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.client_settings import ClientSettings, read_client_settings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.properties_file import load_properties
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    GroupKey,
    TopicStatus,
)
from zkconsumer.status.reading.broker_cluster import BrokerSource
from zkconsumer.status.reading.cluster_source import ClusterSource
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.kept import CLUSTER_PARTS, registered_addresses
from zkconsumer.status.reading.sessions import EnsembleSessions, Sessions
from zkconsumer.status.reading.snapshot import ReadingLimits, SnapshotReader
from zkconsumer.status.reading.zookeeper_cluster import ZookeeperSource
from zkconsumer.status.silence import ABANDONED_AFTER_MS
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.access import read_security
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.live_brokers import live_brokers, require_cluster
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

_BACKOFF_MS = 250
_SESSION_MS = 20_000


class CommandCluster:
    """Thread: one at a time. Made by ``open_cluster``, which closes it.

    Attributes:
        zookeeper: the way to ZooKeeper; None where the cluster is read through its brokers alone.
        dialer: the way to the brokers.
        zookeeper_connect: the connect string, with its chroot; None likewise.
        timeout_ms: how long one server may take.
        clock: for deadlines and ages.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        *,
        store: ZkStore | None,
        dialer: BrokerDialer,
        zookeeper_connect: str | None,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
        bootstrap: Sequence[Broker] = (),
        sessions: Sessions | None = None,
        times_most: int = 0,
        abandoned_after_ms: int = ABANDONED_AFTER_MS,
        clock: Clock | None = None,
    ) -> None:
        self.zookeeper = store
        self.dialer = dialer
        self.zookeeper_connect = zookeeper_connect
        self.timeout_ms = timeout_ms
        self.clock = clock or SystemClock()
        self._bootstrap = bootstrap
        self._sessions = sessions
        self._times_most = times_most
        self._abandoned_after_ms = abandoned_after_ms
        self._listeners: dict[tuple[int, int | None], Broker] = {}
        self._closing = ExitStack()
        self._client: ClusterClient | None = None
        self._reader: SnapshotReader | None = None

    @property
    def store(self) -> ZkStore:
        """The way to ZooKeeper, for what can't be done without.

        Raises:
            ConfigError: there is none; nothing was done.
        """
        if self.zookeeper is None:
            raise ConfigError(NEEDS_ZOOKEEPER)
        return self.zookeeper

    @property
    def client(self) -> ClusterClient:
        """Asks the brokers; those to begin with are given, or the ones that ZooKeeper names.

        Raises:
            RegistryError: ZooKeeper does not answer, or names none.
        """
        if self._client is None:
            bootstrap = self._bootstrap or live_brokers(
                self.store, self.zookeeper_connect or "", self.dialer.protocol
            )
            self._client = client_of(self.dialer, bootstrap, self.timeout_ms, self.clock)
            self._closing.callback(self._client.stop)
        return self._client

    def reader(
        self, limits: ReadingLimits | None = None, *, with_sessions: bool = False
    ) -> SnapshotReader:
        """Return a new reader, closed with this.

        Args:
            limits: how long reading may take.
            with_sessions: whether to ask ZooKeeper which sessions are alive, too.
        """
        # What brokers tell of themselves is at the listener of those to begin with.
        requests = self.zookeeper is not None and self._bootstrap
        reader = SnapshotReader(
            self.zookeeper,
            self.dialer,
            zookeeper_connect=self.zookeeper_connect,
            bootstrap=self._bootstrap,
            limits=limits or self._limits(),
            addresses=self._addresses if requests else registered_addresses,
            sessions=self._sessions if with_sessions else None,
            abandoned_after_ms=self._abandoned_after_ms,
            clock=self.clock,
        )
        self._closing.callback(reader.close)
        return reader

    def snapshot(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Read once; each further call is quicker, and shows what it can't read any more.

        Args:
            first: ids of ZooKeeper groups that are read before all others.

        Raises:
            RegistryError: ZooKeeper does not answer at all.
        """
        if self._reader is None:
            self._reader = self.reader()
        return required(self._reader.read(first))

    def look(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Read these groups again, with the ends of their logs; the rest is as it was last seen.

        Raises:
            RegistryError: nothing was read before, and ZooKeeper does not answer at all.
        """
        if self._reader is None:
            return self.snapshot([key.group_id for key in keys])
        return self._reader.look(keys)

    def cluster(self) -> tuple[tuple[BrokerStatus, ...], tuple[TopicStatus, ...]]:
        """Brokers and topics, ascending, by the word of ZooKeeper alone: no broker is asked.

        Without ZooKeeper, by the word of a broker.

        Raises:
            ZkConsumerError: nobody answers.
        """
        source: ClusterSource = (
            BrokerSource(self.client, self.clock)
            if self.zookeeper is None
            else ZookeeperSource(
                self.zookeeper, self.zookeeper_connect or "", self.clock, self.dialer.protocol
            )
        )
        read = source.read(Deadline(self.clock, self.timeout_ms))
        return read.brokers, tuple(sorted(read.topics, key=lambda topic: topic.name))

    def close(self) -> None:
        """Break off what is under way; the store and the dialer stay open. Idempotent."""
        self._closing.close()

    def _limits(self) -> ReadingLimits:
        ms = self.timeout_ms
        return ReadingLimits(
            cluster_ms=ms,
            groups_ms=ms,
            brokers_ms=ms,
            times_ms=ms,
            times_most=self._times_most,
        )

    def _addresses(self, brokers: Sequence[BrokerStatus]) -> Mapping[int, Broker]:
        """Return where brokers can be reached at the listener of those to begin with.

        A cluster that does not tell is asked where they registered; then the answers say why not.
        """
        keys = [(broker.broker.id, broker.created_ms) for broker in brokers]
        if not self._listeners.keys() >= set(keys):
            try:
                known = self.client.view((), timeout_ms=self.timeout_ms).brokers
            except ZkConsumerError as error:
                log.warning("%s", error)
                return registered_addresses(brokers)
            self._listeners = {key: known[key[0]] for key in keys if key[0] in known}
        return {key[0]: self._listeners[key] for key in keys if key in self._listeners}


def required(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the first snapshot of a cluster, which has to show something.

    Raises:
        RegistryError: ZooKeeper does not answer at all.
    """
    if not snapshot.brokers and not snapshot.topics:
        for failure in snapshot.failures:
            if failure.part in CLUSTER_PARTS:
                raise RegistryError(f"the cluster can't be read: {failure.reason}")
    return snapshot


@contextmanager
def open_cluster(
    args: argparse.Namespace, *, even_without: bool = False, times_most: int = 0
) -> Iterator[CommandCluster]:
    """Connect to ZooKeeper, if one is given; brokers are connected to when they are asked.

    Args:
        args: with what ``add_cluster_arguments`` added: ZooKeeper, bootstrap brokers, or both.
        even_without: whether a chroot that holds no cluster will do: for who shows that himself.
        times_most: of how many records at a time to ask when they were written, for lags in time.

    Raises:
        ConfigError: the servers or the file can't be used.
        RegistryError: ZooKeeper does not answer, or holds no cluster there.
    """
    client = broker_settings(args)
    address_of(args, client)
    with ExitStack() as stack:
        store = _connected(args, stack) if args.zookeeper else None
        if store is not None and not even_without:
            require_cluster(store, args.zookeeper)
        access = CommandCluster(
            store=store,
            dialer=stack.enter_context(open_dialer(client)),
            zookeeper_connect=args.zookeeper or None,
            timeout_ms=args.timeout_ms,
            bootstrap=client.bootstrap,
            times_most=times_most,
            abandoned_after_ms=getattr(args, "abandoned_after_ms", ABANDONED_AFTER_MS),
            sessions=None if store is None else _sessions(args.zookeeper, store),
        )
        stack.callback(access.close)
        yield access


def _connected(args: argparse.Namespace, stack: ExitStack) -> ZkStore:
    store = kazoo_store.connect(
        args.zookeeper,
        session_timeout_ms=_SESSION_MS,
        connection_timeout_ms=args.timeout_ms,
        security=zookeeper_security(args),
    )
    stack.callback(store.close)
    return store


def _sessions(zookeeper_connect: str, store: ZkStore) -> EnsembleSessions:
    return EnsembleSessions(
        TcpConnector(),
        parse_connect_string(zookeeper_connect).servers,
        own_session=lambda: store.session_id,
        clock=SystemClock(),
    )


def broker_settings(args: argparse.Namespace, *, timeout_ms: int | None = None) -> ClientSettings:
    """Return the settings of the file for brokers, and the brokers of the command line.

    Args:
        args: with what ``add_broker_arguments`` added.
        timeout_ms: how long a broker may take; None: as the command line says.

    Raises:
        ConfigError: a setting is invalid.
        OSError: the file can't be read.
    """
    return read_client_settings(
        _file(args),
        client_id="zkconsumer-tools",
        timeout_ms=timeout_ms or args.timeout_ms,
        servers=args.bootstrap_servers,
    )


def zookeeper_security(args: argparse.Namespace) -> ZookeeperSecurity:
    """Return how to get into ZooKeeper, by the file.

    Raises:
        ConfigError: a setting is invalid.
        OSError: the file can't be read.
    """
    return read_security(_file(args))


def _file(args: argparse.Namespace) -> Mapping[str, str]:
    return load_properties(args.command_config) if args.command_config else {}


@contextmanager
def open_dialer(client: ClientSettings) -> Iterator[BrokerDialer]:
    """The way to brokers; it is stopped at the end.

    Raises:
        ConfigError: a file of its security settings can't be used.
    """
    dialer = dialer_of(client)
    try:
        yield dialer
    finally:
        dialer.stop()


def client_of(
    dialer: BrokerDialer, bootstrap: Sequence[Broker], timeout_ms: int, clock: Clock | None = None
) -> ClusterClient:
    """Asks the cluster to which these brokers belong; whoever made it stops it."""
    return ClusterClient(
        dialer,
        bootstrap,
        request_timeout_ms=timeout_ms,
        retry_backoff_ms=_BACKOFF_MS,
        clock=clock,
        shuffle=random.shuffle,
    )
