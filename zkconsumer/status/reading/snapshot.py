"""Reads a whole cluster repeatedly, into one snapshot each time.

Each part has its own time limit. A part that could not be read is shown as last known, with its age
and the reason.
"""

from collections.abc import Collection, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupKey, GroupKind
from zkconsumer.status.reading.assembly import keep_newer
from zkconsumer.status.reading.broker_cluster import BrokerSource, client_of
from zkconsumer.status.reading.deadline import ReadingLimits
from zkconsumer.status.reading.garbage import no_collection
from zkconsumer.status.reading.group_reads import SelectedGroupsReader
from zkconsumer.status.reading.kept import Kept, registered_addresses
from zkconsumer.status.reading.next_records import NextRecords
from zkconsumer.status.reading.reader_state import ReaderState
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.sessions import Sessions
from zkconsumer.status.reading.snapshot_parts import (
    Addresses,
    BrokerParts,
    ClusterPart,
    ZookeeperParts,
)
from zkconsumer.status.reading.zookeeper_cluster import ZookeeperSource
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups
from zkconsumer.status.silence import ABANDONED_AFTER_MS
from zkconsumer.zk.store import ZkStore


class SnapshotReader:
    """Reads snapshots of a cluster.

    Thread: one calls ``read``, and one, which may be another, ``read_groups``; ``close``: any.

    Args:
        store: the connection to ZooKeeper; the caller closes it. None: only brokers are read, and
            what only ZooKeeper knows is unknown.
        dialer: connects to the brokers; the caller stops it.
        zookeeper_connect: as the snapshot shows it; None without a store.
        bootstrap: the bootstrap brokers if there is no store.
        limits: time limits of reading; None: the defaults.
        addresses: returns the brokers' addresses; None: the registered ones, of their plain-text
            listener.
        sessions: returns the live ZooKeeper sessions; None: not read, since that is expensive for a
            large ensemble.
        abandoned_after_ms: the time without a commit after which a group without members is
            abandoned.
        clock: for deadlines and ages.

    Raises:
        ConfigError: there is neither a store nor a bootstrap broker.

    Example:
        A cluster without ZooKeeper::

            bootstrap = parse_bootstrap("servers", "kafka1:9092")
            dialer = dialer_of(ClientSettings(client_id="watch", timeout_ms=5_000))
            reader = SnapshotReader(None, dialer, bootstrap=bootstrap)
            print(reader.read().groups)
    """

    def __init__(  # noqa: PLR0913 - one part a line, most by name
        self,
        store: ZkStore | None,
        dialer: BrokerDialer,
        *,
        zookeeper_connect: str | None = None,
        bootstrap: Sequence[Broker] = (),
        limits: ReadingLimits | None = None,
        addresses: Addresses = registered_addresses,
        sessions: Sessions | None = None,
        abandoned_after_ms: int = ABANDONED_AFTER_MS,
        clock: Clock | None = None,
    ) -> None:
        rounds, limits = RoundClock(clock or SystemClock()), limits or ReadingLimits()
        source: ZookeeperSource | BrokerSource
        through: str | BrokersAlone
        groups: ZookeeperGroups | None = None
        self._client: ClusterClient | None = None
        if store is not None:
            through = zookeeper_connect or ""
            source = ZookeeperSource(store, through, rounds, dialer.protocol)
            groups = ZookeeperGroups(store, rounds)
        elif bootstrap:
            self._client = client_of(dialer, bootstrap, limits.cluster_ms, rounds)
            source = BrokerSource(self._client, rounds)
            servers = ",".join(f"{broker.host}:{broker.port}" for broker in bootstrap)
            through = BrokersAlone(bootstrap_servers=servers)
        else:
            raise ConfigError("neither a ZooKeeper nor a broker to begin with was given")
        self._scope = ThreadScope("status", clock=rounds)
        self._state = ReaderState(rounds, Kept(source.part), through, abandoned_after_ms)
        self._cluster = ClusterPart(source, self._state, self._scope, rounds, limits)
        self._zookeeper = ZookeeperParts(groups, sessions, self._scope, rounds, limits)
        self._addresses = addresses
        self._brokers = BrokerParts(dialer, self._state, rounds, limits, must_list=store is None)
        self._selected = SelectedGroupsReader(store, dialer, rounds, limits.selected_ms)
        self._times = NextRecords(dialer, rounds, limit_ms=limits.times_ms, most=limits.times_most)
        self._was_read = False

    @no_collection()
    def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Read all that can be read in time; the rest is shown as last known.

        Args:
            first: ids of ZooKeeper groups to read first, in case the time does not suffice for all.
        """
        state = self._state
        state.follow_clock()
        self._cluster.read()
        groups = self._zookeeper.begin_groups(state.kept.partition_ids() or {}, frozenset(first))
        addresses = self._addresses(state.kept.brokers)
        answering = self._brokers.read_logs_and_groups(addresses)
        state.record_groups(groups())
        sessions = self._zookeeper.begin_sessions()
        self._brokers.read_offsets(answering)
        snapshot = state.assemble(answering, sessions())
        self._times.request(snapshot, state.leaders())
        snapshot = self._times.memory.filled(snapshot)
        shown = state.update(lambda last: keep_newer(snapshot, last))
        self._was_read = True
        return shown

    def read_groups(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Read these groups again, and show all else as last read.

        Members, owners, committed offsets and the log ends of their partitions are read; brokers,
        topics, leaders and coordinators are those of the last ``read``. A group that is gone is
        omitted; one that could not be read is shown as last known, with its age, and the reason
        among the failures. Before the first ``read``, this reads the whole cluster.

        Args:
            keys: the keys of the groups, including new ones.
        """
        if not self._was_read:
            return self.read([key.group_id for key in keys if key.kind is GroupKind.ZOOKEEPER])
        plan, set_backs = self._state.plan_group_reads(keys)
        found = self._selected.read(plan)
        snapshot = self._state.take_group_reads(found, keys, set_backs)
        self._times.request(snapshot, self._state.leaders(), keys)
        # Another thread may have read all groups meanwhile.
        return self._state.update(lambda last: self._times.memory.filled(last, keys))

    def close(self, timeout_ms: int = 5_000) -> None:
        """Interrupt running reads. Idempotent. Thread: any."""
        if self._client is not None:
            self._client.stop()
        self._selected.close(timeout_ms)
        self._times.close(timeout_ms)
        self._brokers.close(timeout_ms)
        self._scope.close(timeout_ms)
