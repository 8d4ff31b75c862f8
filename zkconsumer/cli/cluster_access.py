"""A cluster, opened for a command: ZooKeeper if there is one, the brokers, snapshots.

Brokers are connected to when they are asked, so a command that needs none of them works while all
are down.
"""

import argparse
import logging
import random
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from zkconsumer.cli.without_zookeeper import NEEDS_ZOOKEEPER, address_of
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.errors import ConfigError, RegistryError, ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.nearest import did_you_mean
from zkconsumer.net.client_settings import ClientSettings, read_client_settings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.printable import printable
from zkconsumer.properties_file import load_properties
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    GroupKey,
    GroupKind,
    GroupStatus,
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
from zkconsumer.zk.live_brokers import live_brokers, require_cluster, why_no_brokers
from zkconsumer.zk.store import ZkStore

log = logging.getLogger(__name__)

DEFAULT_TIMEOUT_MS = 10_000
COULD_NOT = 1
"""The exit status where something could not be read or done."""
_BACKOFF_MS = 250
_SESSION_MS = 20_000
_NEAREST = 5


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says where the cluster is, and how to get in; ``open_cluster`` wants one of both."""
    group = parser.add_argument_group("the cluster")
    group.add_argument(
        "--zookeeper",
        "--zkconnect",
        "--zookeeper.connect",
        dest="zookeeper",
        metavar="HOSTS",
        help="where ZooKeeper is: host1:port1,host2:port2/chroot",
    )
    group.add_argument(
        "--bootstrap-servers",
        "--bootstrap-server",
        dest="bootstrap_servers",
        metavar="HOSTS",
        help="brokers to begin with, at the listener that --command-config fits to "
        "(default: those that ZooKeeper names); without --zookeeper all that there is: for a "
        "cluster that has no ZooKeeper, or where that is closed to you",
    )
    add_broker_arguments(group)


def add_broker_arguments(group: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add what says how to talk to brokers."""
    group.add_argument(
        "--command-config",
        metavar="FILE",
        help="a .properties file with what servers want to see: security.protocol, sasl.*, ssl.* "
        "for brokers; zookeeper.auth.*, zookeeper.ssl.* for ZooKeeper",
    )
    group.add_argument(
        "--timeout-ms",
        type=milliseconds,
        default=DEFAULT_TIMEOUT_MS,
        metavar="MS",
        help="how long one server may take to answer (default: %(default)s)",
    )


def milliseconds(text: str) -> int:
    """A duration of the command line, at least 1."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of milliseconds")
    return int(text)


class ClusterAccess:
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
        """A new reader, closed with this.

        Args:
            limits: how long reading may take.
            with_sessions: whether to ask ZooKeeper which sessions are alive, too.
        """
        # What brokers tell of themselves is at the listener of those to begin with.
        asks = self.zookeeper is not None and self._bootstrap
        reader = SnapshotReader(
            self.zookeeper,
            self.dialer,
            zookeeper_connect=self.zookeeper_connect,
            bootstrap=self._bootstrap,
            limits=limits or self._limits(),
            addresses=self._addresses if asks else registered_addresses,
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
            return self.snapshot([one.group_id for one in keys])
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
        """Where brokers can be reached at the listener of those to begin with.

        A cluster that does not tell is asked where they registered; then the answers say why not.
        """
        keys = [(one.broker.id, one.created_ms) for one in brokers]
        if not self._listeners.keys() >= set(keys):
            try:
                known = self.client.view((), timeout_ms=self.timeout_ms).brokers
            except ZkConsumerError as error:
                log.warning("%s", error)
                return registered_addresses(brokers)
            self._listeners = {key: known[key[0]] for key in keys if key[0] in known}
        return {key[0]: self._listeners[key] for key in keys if key in self._listeners}


def required(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """The first snapshot of a cluster, which has to show something.

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
) -> Iterator[ClusterAccess]:
    """Connect to ZooKeeper, if one is given; brokers are connected to when they are asked.

    Args:
        args: with what ``add_cluster_arguments`` added: ZooKeeper, brokers to begin with, or both.
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
        access = ClusterAccess(
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
    """The settings of the file for brokers, and the brokers of the command line.

    Args:
        args: with what ``add_broker_arguments`` added.
        timeout_ms: how long a broker may take; None: as the command line says.

    Raises:
        ConfigError: a setting makes no sense.
        OSError: the file can't be read.
    """
    return read_client_settings(
        _file(args),
        client_id="zkconsumer-tools",
        timeout_ms=timeout_ms or args.timeout_ms,
        servers=args.bootstrap_servers,
    )


def zookeeper_security(args: argparse.Namespace) -> ZookeeperSecurity:
    """How to get into ZooKeeper, by the file.

    Raises:
        ConfigError: a setting makes no sense.
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


def add_kind_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--kind``, for ids that are in use in both places; ``args.kind`` may be None."""
    parser.add_argument(
        "--kind",
        type=GroupKind,
        choices=list(GroupKind),
        metavar="KIND",
        help="where the group lives, if there are two of that name: zookeeper or coordinator",
    )


def settled(status: int, snapshot: ClusterSnapshot) -> int:
    """The exit status of a command that has shown this: without brokers nothing is well."""
    return status if status or snapshot.no_brokers is None else COULD_NOT


def brokers_status(access: ClusterAccess, brokers: Collection[BrokerStatus]) -> int:
    """The same for a command that reads brokers alone; says what is wrong on standard error.

    Raises:
        RegistryError: ZooKeeper does not answer.
    """
    if brokers or access.zookeeper is None:
        return 0
    why = why_no_brokers(access.zookeeper, access.zookeeper_connect or "")
    print(f"zkconsumer: {printable(str(why))}", file=sys.stderr)
    return COULD_NOT


def add_abandoned_argument(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup",
) -> None:
    """Add how long a silence makes a group abandoned; ``open_cluster`` reads it."""
    parser.add_argument(
        "--abandoned-after-ms",
        type=milliseconds,
        default=ABANDONED_AFTER_MS,
        metavar="MS",
        help="after how long without a commit a group that nobody is in counts as abandoned, and "
        "no more as one in trouble (default: %(default)s, half an hour)",
    )


def tell_failures(snapshot: ClusterSnapshot) -> None:
    """Say on standard error what could not be read, so that nobody takes the rest for all."""
    if snapshot.no_brokers is not None:
        print(f"zkconsumer: {printable(str(snapshot.no_brokers))}", file=sys.stderr)
    for failure in snapshot.failures:
        told = printable(" ".join(f"{failure.part}: {failure.reason}".split()))
        print(f"zkconsumer: {told}", file=sys.stderr)


def find_group(snapshot: ClusterSnapshot, group_id: str, kind: GroupKind | None) -> GroupStatus:
    """The group of this name.

    Args:
        snapshot: the cluster.
        group_id: the name.
        kind: where it lives; None where there is only one.

    Raises:
        ConfigError: there is none, which names those most like it; or there are two.
    """
    kinds = list(GroupKind) if kind is None else [kind]
    found = [
        group
        for one in kinds
        if (group := snapshot.groups.get(GroupKey(one, group_id))) is not None
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            f"there are two groups {group_id}, one in ZooKeeper and one at a coordinator: "
            "say which with --kind zookeeper or --kind coordinator"
        )
    where = "" if kind is None else f" ({kind})"
    ids = {key.group_id for key in snapshot.groups if key.kind in kinds}
    hint = did_you_mean(group_id, ids, limit=_NEAREST) or f": {_other_hint(snapshot, ids)}"
    alone = snapshot.brokers_alone
    if alone is not None and not alone.no_zookeeper:
        where, hint = " at a coordinator", f"{hint}; {alone.unknown}"
    raise ConfigError(f"there is no group {group_id}{where}{hint}")


def _other_hint(snapshot: ClusterSnapshot, ids: Collection[str]) -> str:
    if snapshot.failures:
        failure = snapshot.failures[0]
        return f"but not all could be read: {failure.part}: {failure.reason}"
    if not snapshot.brokers:
        return "but no broker is registered, and only they know of groups that are not in ZooKeeper"
    return "'groups --list' shows those that there are" if ids else "the cluster has none at all"
