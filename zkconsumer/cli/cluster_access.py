"""Opens a cluster for a command: its ZooKeeper if there is one, its brokers, and snapshots of it.

Brokers are connected on use, so a command that needs none of them works while all are down.
"""

import argparse
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace

from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_zookeeper import read_security
from zkconsumer.errors import ConfigError, NoBrokersAvailable, RegistryError, ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.client_settings import ClientSettings, read_client_settings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.listening import why_nothing_listens
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.properties_file import load_properties
from zkconsumer.status.model import BrokerStatus, ClusterSnapshot, GroupKey, GroupKind
from zkconsumer.status.reading.broker_cluster import BrokerSource, client_of
from zkconsumer.status.reading.deadline import Deadline, ReadingLimits
from zkconsumer.status.reading.kept import CLUSTER_PARTS, registered_addresses
from zkconsumer.status.reading.sessions import EnsembleSessions, Sessions
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.status.reading.values import ClusterRead
from zkconsumer.status.reading.zookeeper_cluster import ZookeeperSource
from zkconsumer.status.silence import ABANDONED_AFTER_MS
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.live_brokers import live_brokers, require_cluster
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

NEEDS_ZOOKEEPER = (
    "this is stored in ZooKeeper, and brokers can't access it: give --zookeeper HOSTS; nothing "
    "was done"
)
NO_CLUSTER = (
    "no cluster given: give --zookeeper HOSTS, or --bootstrap-server HOSTS for a cluster without "
    "ZooKeeper, or with one that you can't reach"
)
_SESSION_MS = 20_000


class CommandCluster:
    """A cluster for one command, made by ``open_cluster``, which closes it. Thread: one at a time.

    Attributes:
        zookeeper: the connection to ZooKeeper; None if the cluster is read through its brokers
            only.
        dialer: connects to the brokers.
        zookeeper_connect: the connect string, with its chroot; None without ZooKeeper.
        timeout_ms: the time limit of one server's response.
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
        """The connection to ZooKeeper, for operations that require it.

        Raises:
            ConfigError: there is no ZooKeeper; nothing was done.
        """
        if self.zookeeper is None:
            raise ConfigError(NEEDS_ZOOKEEPER)
        return self.zookeeper

    @property
    def client(self) -> ClusterClient:
        """A client of the cluster, by the given bootstrap brokers or those in ZooKeeper.

        Raises:
            RegistryError: ZooKeeper does not respond, or has no brokers.
        """
        if self._client is None:
            self._client = client_of(self.dialer, self.known_brokers(), self.timeout_ms, self.clock)
            self._closing.callback(self._client.stop)
        return self._client

    def known_brokers(self) -> Sequence[Broker]:
        """Return the bootstrap brokers, or those that are registered in ZooKeeper.

        Raises:
            RegistryError: ZooKeeper does not respond, or has no brokers.
        """
        return self._bootstrap or live_brokers(
            self.store, self.zookeeper_connect or "", self.dialer.protocol
        )

    def reader(self, *, with_sessions: bool = False) -> SnapshotReader:
        """Return a new reader, which is closed with this object.

        Args:
            with_sessions: whether to read the live sessions of ZooKeeper, too.
        """
        # Brokers report their addresses at the listener of the bootstrap brokers.
        requests, ms = self.zookeeper is not None and self._bootstrap, self.timeout_ms
        reader = SnapshotReader(
            self.zookeeper,
            self.dialer,
            zookeeper_connect=self.zookeeper_connect,
            bootstrap=self._bootstrap,
            limits=ReadingLimits(
                cluster_ms=ms, groups_ms=ms, brokers_ms=ms, times_ms=ms, times_most=self._times_most
            ),
            addresses=self._addresses if requests else registered_addresses,
            sessions=self._sessions if with_sessions else None,
            abandoned_after_ms=self._abandoned_after_ms,
            clock=self.clock,
        )
        self._closing.callback(reader.close)
        return reader

    def snapshot(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Read a snapshot; later calls are faster, and show the last state of parts that fail.

        Args:
            first: ids of ZooKeeper groups to read first.

        Raises:
            RegistryError: ZooKeeper does not respond at all.
        """
        if self._reader is None:
            self._reader = self.reader()
        return required(self._reader.read(first))

    def read_groups(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Read some groups again, with their log ends; the rest of the snapshot is unchanged.

        Raises:
            RegistryError: ZooKeeper does not respond to the first read at all.
        """
        if self._reader is None:
            return self.snapshot([key.group_id for key in keys])
        return self._reader.read_groups(keys)

    def cluster(self) -> ClusterRead:
        """Return brokers and topics, ascending, from ZooKeeper alone: no broker is queried.

        Without ZooKeeper they are read from a broker.

        Raises:
            ZkConsumerError: no server responds.
        """
        source = (
            BrokerSource(self.client, self.clock)
            if self.zookeeper is None
            else ZookeeperSource(
                self.zookeeper, self.zookeeper_connect or "", self.clock, self.dialer.protocol
            )
        )
        read = source.read(Deadline(self.clock, self.timeout_ms))
        return replace(read, topics=tuple(sorted(read.topics, key=lambda topic: topic.name)))

    def close(self) -> None:
        """Interrupt running reads; the store and the dialer stay open. Idempotent."""
        self._closing.close()

    def _addresses(self, brokers: Sequence[BrokerStatus]) -> Mapping[int, Broker]:
        """Return the brokers' addresses at the listener of the bootstrap brokers.

        If the cluster can't report them, return the registered addresses, and log the reason.
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
    """Return the first snapshot of a cluster; raise if nothing of the cluster could be read.

    Raises:
        RegistryError: neither brokers nor topics could be read.
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
    """Connect to ZooKeeper, if it is given; brokers are connected on use.

    Args:
        args: parsed arguments of ``add_cluster_arguments``: ZooKeeper, bootstrap brokers, or both.
        even_without: whether to accept a chroot without a cluster; True for callers that report
            that themselves.
        times_most: the maximum number of record timestamps to read at a time, for lags in time.

    Raises:
        ConfigError: the servers or the file can't be used.
        RegistryError: ZooKeeper does not respond, or has no cluster there.
        NoBrokersAvailable: nothing listens at the brokers' addresses.
    """
    client = broker_settings(args)
    address_of(args, client)
    with ExitStack() as stack:
        if args.zookeeper:
            require_zookeeper(args.zookeeper)
        elif client.bootstrap:
            require_brokers(client.bootstrap)
        store = stack.enter_context(_connected(args)) if args.zookeeper else None
        if store is not None and not even_without:
            require_cluster(store, args.zookeeper)
        dialer = dialer_of(client)
        stack.callback(dialer.stop)
        access = CommandCluster(
            store=store,
            dialer=dialer,
            zookeeper_connect=args.zookeeper or None,
            timeout_ms=args.timeout_ms,
            bootstrap=client.bootstrap,
            times_most=times_most,
            abandoned_after_ms=getattr(args, "abandoned_after_ms", ABANDONED_AFTER_MS),
            sessions=None if store is None else _sessions(args.zookeeper, store),
        )
        stack.callback(access.close)
        yield access


def address_of(args: argparse.Namespace, client: ClientSettings) -> str:
    """Return the cluster's address as given; check that it suffices for the requested groups.

    Args:
        args: parsed arguments of ``add_cluster_arguments``.
        client: the brokers' settings, which may have bootstrap servers.

    Raises:
        ConfigError: neither ZooKeeper nor brokers are given, or ZooKeeper groups are requested
            without ZooKeeper.
    """
    if args.zookeeper:
        address: str = args.zookeeper
        return address
    if not client.bootstrap:
        raise ConfigError(NO_CLUSTER)
    if getattr(args, "kind", None) is GroupKind.ZOOKEEPER:
        raise ConfigError("--kind zookeeper needs a --zookeeper: brokers don't know those groups")
    return ",".join(f"{broker.host}:{broker.port}" for broker in client.bootstrap)


def require_zookeeper(connect: str) -> None:
    """Check that something listens at one of the servers, so that no later call has to time out.

    Raises:
        ConfigError: the connect string is invalid.
        RegistryError: all refuse a connection, or have no address.
    """
    why = why_nothing_listens(parse_connect_string(connect).servers)
    if why is not None:
        raise RegistryError(f"no ZooKeeper there: {why}: is one running, is the address right?")


def require_brokers(brokers: Sequence[Broker]) -> None:
    """Check that something listens at one of the addresses, so that no later call has to time out.

    Raises:
        NoBrokersAvailable: all refuse a connection, or have no address.
    """
    why = why_nothing_listens([(broker.host, broker.port) for broker in brokers])
    if why is not None:
        raise NoBrokersAvailable(f"no broker there: {why}: is one running, is the address right?")


def open_store(config: ConsumerConfig) -> AbstractContextManager[ZkStore]:
    """Open a separate ZooKeeper session for a consumer's group, and close it at the end."""
    return closing(
        kazoo_store.connect(
            config.zookeeper_connect,
            session_timeout_ms=config.zookeeper_session_timeout_ms,
            connection_timeout_ms=config.zookeeper_connection_timeout_ms,
            security=config.zookeeper_security,
        )
    )


def _connected(args: argparse.Namespace) -> AbstractContextManager[ZkStore]:
    return closing(
        kazoo_store.connect(
            args.zookeeper,
            session_timeout_ms=_SESSION_MS,
            connection_timeout_ms=args.timeout_ms,
            security=read_security(_file(args)),
        )
    )


def _sessions(zookeeper_connect: str, store: ZkStore) -> EnsembleSessions:
    return EnsembleSessions(
        TcpConnector(),
        parse_connect_string(zookeeper_connect).servers,
        own_session=lambda: store.session_id,
        clock=SystemClock(),
    )


def broker_settings(args: argparse.Namespace) -> ClientSettings:
    """Return the broker settings of the file, with the bootstrap servers of the command line.

    Args:
        args: parsed arguments of ``add_broker_arguments``.

    Raises:
        ConfigError: a setting is invalid.
        OSError: the file can't be read.
    """
    return read_client_settings(
        _file(args),
        client_id="zkconsumer-tools",
        timeout_ms=args.timeout_ms,
        servers=args.bootstrap_servers,
    )


def _file(args: argparse.Namespace) -> Mapping[str, str]:
    return load_properties(args.command_config) if args.command_config else {}
