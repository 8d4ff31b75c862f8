"""Reads a whole cluster repeatedly, into one snapshot each time.

No part waits for another longer than its own time limit: a part that could not be read is shown as
last known, with its age and the reason.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import (
    BrokersAlone,
    BrokerStatus,
    ClusterSnapshot,
    GroupKey,
    GroupKind,
    Seen,
)
from zkconsumer.status.reading.assembly import assemble, keep_newer, reassemble
from zkconsumer.status.reading.broker_cluster import BrokerSource
from zkconsumer.status.reading.broker_round import BrokerRound, Unanswered
from zkconsumer.status.reading.clock_skew import ClockSkew
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC, CoordinatorReader
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.garbage import no_collection
from zkconsumer.status.reading.group_reads import CoordinatorGroupReader, plan_look
from zkconsumer.status.reading.kept import Kept, offset_requests, registered_addresses
from zkconsumer.status.reading.logs import LogReader
from zkconsumer.status.reading.next_records import NextRecords, TimesMemory
from zkconsumer.status.reading.part import Part
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.sessions import Sessions
from zkconsumer.status.reading.values import ClusterRead, GroupsRead, OffsetsRead
from zkconsumer.status.reading.zookeeper_cluster import ZookeeperSource
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups
from zkconsumer.status.set_back import moved_back
from zkconsumer.status.silence import ABANDONED_AFTER_MS
from zkconsumer.zk.store import ZkStore

Addresses: TypeAlias = Callable[[Sequence[BrokerStatus]], Mapping[int, Broker]]
"""Returns the addresses of brokers, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Time limits of reading.

    Attributes:
        cluster_ms: for brokers and topics.
        cluster_every_ms: the maximum age of brokers and topics, which are a fifth of all reads, and
            seldom change.
        groups_ms: for the groups in ZooKeeper.
        brokers_ms: for each of three rounds to the brokers: logs, groups, offsets.
        quiet_ms: how long a ZooKeeper group without offsets in Kafka is assumed to have none; not
            while it has members and no offsets at all: it has yet to commit.
        look_ms: for reading some groups again.
        sessions_ms: for the list of sessions.
        times_ms: for reading the timestamps of the groups' next records.
        times_most: about how many of them to read at a time; 0: none.
    """

    cluster_ms: int = 5_000
    cluster_every_ms: int = 5_000
    groups_ms: int = 5_000
    brokers_ms: int = 5_000
    quiet_ms: int = 60_000
    look_ms: int = 2_000
    sessions_ms: int = 2_000
    times_ms: int = 2_000
    times_most: int = 0


class SnapshotReader:
    """Reads snapshots of a cluster.

    Thread: one reads, and one (it may be another) looks; ``close``: any.

    Args:
        store: the connection to ZooKeeper; the caller closes it. None: only brokers are read, and
            what only ZooKeeper knows is unknown.
        dialer: connects to the brokers; the caller stops it.
        zookeeper_connect: as the snapshot shows it; None without a store.
        bootstrap: the bootstrap brokers if there is no store.
        limits: time limits of reading.
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
        limits: ReadingLimits = ReadingLimits(),
        addresses: Addresses = registered_addresses,
        sessions: Sessions | None = None,
        abandoned_after_ms: int = ABANDONED_AFTER_MS,
        clock: Clock | None = None,
    ) -> None:
        self._clock = RoundClock(clock or SystemClock())
        self._zookeeper_connect = None if store is None else zookeeper_connect or ""
        self._bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in bootstrap)
        self._limits = limits
        self._addresses = addresses
        self._sessions = sessions
        self._abandoned_after_ms = abandoned_after_ms
        self._scope = ThreadScope("status", clock=self._clock)
        self._source: ZookeeperSource | BrokerSource
        self._zookeeper_groups: ZookeeperGroups | None = None
        if store is not None:
            self._source = ZookeeperSource(
                store, zookeeper_connect or "", self._clock, dialer.protocol
            )
            self._zookeeper_groups = ZookeeperGroups(store, self._clock)
        elif bootstrap:
            self._source = BrokerSource.of(dialer, bootstrap, limits.cluster_ms, self._clock)
        else:
            raise ConfigError("neither a ZooKeeper nor a broker to begin with was given")
        self._cluster: Part[ClusterRead] = Part(
            "cluster", self._scope, self._clock, self._source.requested
        )
        self._holds_lookaround = CoordinatorGroupReader(store, dialer, self._clock)
        self._groups: Part[GroupsRead] = Part("groups", self._scope, self._clock)
        self._alive: Part[Seen[frozenset[int]] | None] = Part("sessions", self._scope, self._clock)
        self._brokers = BrokerRound(dialer, self._clock)
        self._logs = LogReader(self._brokers, self._clock)
        self._coordinators = CoordinatorReader(self._brokers, self._clock, must_list=store is None)
        self._memory = TimesMemory()
        self._next, self._next_read = (
            NextRecords(dialer, self._clock, self._memory, most=limits.times_most) for _ in range(2)
        )
        # Guards the state that both reading and looking change.
        self._lock = threading.Lock()
        self._kept = Kept(self._source.part)
        self._last: ClusterSnapshot | None = None
        self._answering: Mapping[int, Broker] = {}
        self._skew = ClockSkew()
        self._cluster_read_ms: int | None = None
        self._quiet_since_ms: dict[str, int] = {}

    def read(self, first: Collection[str] = ()) -> ClusterSnapshot:
        """Read all that can be read in time; the rest is shown as last known.

        Args:
            first: ids of ZooKeeper groups to read first, in case the time does not suffice for all.
        """
        with no_collection():
            return self._read(first)

    def _read(self, first: Collection[str]) -> ClusterSnapshot:
        self._follow_clock()
        self._read_cluster()
        groups_deadline = self._begin_groups(frozenset(first))
        answering = self._read_logs_and_coordinators()
        self._end_groups(groups_deadline)
        sessions_deadline = self._begin_sessions()
        self._read_offsets(answering)
        sessions = self._end_sessions(sessions_deadline)
        with self._lock:
            self._answering = answering
            self._kept.forget_look(self._clock.wall_ms())
            kept = copy(self._kept)
        snapshot = assemble(
            kept,
            now_ms=self._clock.wall_ms(),
            through=self._through(kept),
            sessions=sessions,
            clock_skew_ms=self._skew.seen(),
            abandoned_after_ms=self._abandoned_after_ms,
        )
        snapshot = replace(snapshot, clock_ahead_ms=self._clock.ahead_ms)
        leaders = kept.leaders(answering)
        self._next.request(snapshot, leaders, Deadline(self._clock, self._limits.times_ms))
        snapshot = self._memory.filled(snapshot)
        with self._lock:
            if self._last is not None:
                snapshot = keep_newer(snapshot, self._last)
            self._last = snapshot
        return snapshot

    def look(self, keys: Collection[GroupKey]) -> ClusterSnapshot:
        """Read these groups again, and show all else as last read.

        Members, owners, committed offsets and the log ends of their partitions are read; brokers,
        topics, leaders and coordinators are those of the last ``read``. A group that is gone is
        omitted; one that could not be read is shown as last known, with its age, and the reason
        among the failures. Before the first ``read`` it is one.

        Args:
            keys: of groups, also of new ones.
        """
        if self._zookeeper_groups is None:
            keys = [key for key in keys if key.kind is not GroupKind.ZOOKEEPER]
        if self._last is None:
            return self.read([key.group_id for key in keys if key.kind is GroupKind.ZOOKEEPER])
        with self._lock:
            plan, set_backs = plan_look(self._kept, keys, self._answering), self._clock.set_backs
        found = self._holds_lookaround.look(plan, Deadline(self._clock, self._limits.look_ms))
        with self._lock:
            if set_backs != self._clock.set_backs:
                return self._last  # the times of what was found lie ahead
            now_ms = self._clock.wall_ms()
            self._kept.take_look(found, now_ms)
            self._last = reassemble(
                self._last,
                self._kept,
                keys,
                now_ms=now_ms,
                abandoned_after_ms=self._abandoned_after_ms,
            )
            on_snapshot, leaders = self._last, self._kept.leaders(self._answering)
        if self._limits.times_most:
            deadline = Deadline(self._clock, self._limits.times_ms)
            self._next_read.request(on_snapshot, leaders, deadline, keys)
        with self._lock:
            # Meanwhile all groups may have been read again.
            self._last = self._memory.filled(self._last, keys)
            return self._last

    def close(self, timeout_ms: int = 5_000) -> None:
        """Interrupt running reads. Idempotent. Thread: any."""
        self._source.close()
        self._holds_lookaround.close(timeout_ms)
        self._next.close(timeout_ms)
        self._next_read.close(timeout_ms)
        self._brokers.close(timeout_ms)
        self._scope.close(timeout_ms)

    def _follow_clock(self) -> None:
        """Follow the local clock; if it was set back, what is kept goes back with it."""
        with self._lock:
            by_ms = self._clock.follow()
            if by_ms:
                self._kept.set_back(by_ms)
                self._last = moved_back(self._last, by_ms)
                self._skew = ClockSkew()
            if self._last is not None:
                self._last = replace(self._last, clock_ahead_ms=self._clock.ahead_ms)

    def _read_cluster(self) -> None:
        read_ms, every_ms = self._cluster_read_ms, self._limits.cluster_every_ms
        if read_ms is not None and self._clock.now_ms() - read_ms < every_ms:
            return
        deadline = Deadline(self._clock, self._limits.cluster_ms)
        self._cluster.start(lambda: self._source.read(deadline))
        found = self._cluster.result(deadline)
        now_ms = self._clock.wall_ms()
        if isinstance(found, Unanswered):
            with self._lock:
                self._kept.lose_cluster(found.reason, now_ms)
        else:
            with self._lock:
                self._kept.take_cluster(found, now_ms)
            self._cluster_read_ms = self._clock.now_ms()

    def _begin_groups(self, first: Collection[str]) -> Deadline:
        deadline = Deadline(self._clock, self._limits.groups_ms)
        topics, groups = self._kept.partition_ids() or {}, self._zookeeper_groups
        if groups is not None:
            self._groups.start(lambda: groups.read(topics, deadline, first))
        return deadline

    def _end_groups(self, deadline: Deadline) -> None:
        if self._zookeeper_groups is None:
            return
        found = self._groups.result(deadline)
        now_ms = self._clock.wall_ms()
        if isinstance(found, Unanswered):
            with self._lock:
                self._kept.lose_groups(found.reason, now_ms)
        else:
            self._skew.note(self._kept.zookeeper_groups, found.groups, now_ms)
            with self._lock:
                self._kept.take_groups(found, now_ms)

    def _begin_sessions(self) -> Deadline:
        """Begin to read the live sessions: after the groups, else new members would seem dead."""
        deadline = Deadline(self._clock, self._limits.sessions_ms)
        request = self._sessions
        if request is not None:

            def read() -> Seen[frozenset[int]] | None:
                at_ms = self._clock.wall_ms()
                found = request(deadline)
                return None if found is None else Seen(found, at_ms)

            self._alive.start(read)
        return deadline

    def _end_sessions(self, deadline: Deadline) -> Seen[frozenset[int]] | None:
        found = None if self._sessions is None else self._alive.result(deadline)
        return None if isinstance(found, Unanswered) else found

    def _read_logs_and_coordinators(self) -> dict[int, Broker]:
        """Read from the brokers; return the addresses of those that responded."""
        addresses = dict(self._addresses(self._kept.brokers))
        leaders = self._kept.leaders(addresses)
        logs = self._logs.read(leaders, self._deadline())
        unasked = self._kept.unasked(addresses)
        with self._lock:
            whole = replace(logs, problems={**logs.problems, **unasked})
            self._kept.take_logs(whole, self._clock.wall_ms())
        # Brokers that just failed to respond are not waited for again.
        answering = {id_: broker for id_, broker in addresses.items() if id_ not in logs.failures}
        found = self._coordinators.read_groups(list(answering.values()), self._deadline())
        with self._lock:
            all_groups = replace(found, failures={**logs.failures, **found.failures})
            self._kept.take_coordinators(all_groups, self._clock.wall_ms())
        return {
            broker_id: broker
            for broker_id, broker in answering.items()
            if broker_id not in found.failures
        }

    def _read_offsets(self, answering: Mapping[int, Broker]) -> None:
        kept, now_ms = self._kept, self._clock.wall_ms()
        ids = kept.partition_ids() or {}
        if not ids.get(OFFSETS_TOPIC):
            # A coordinator lookup would create the topic; and without it no offsets are stored.
            with self._lock:
                nothing = OffsetsRead(offsets={}, failures={}, moved=frozenset())
                kept.take_offsets(nothing, now_ms, now_ms)
            return
        deadline = self._deadline()
        due = self._due()
        unknown = [group_id for group_id in due if self._needs_coordinator(group_id)]
        failures: dict[str, str] = {}
        for name, found in self._coordinators.find(
            unknown, list(answering.values()), deadline
        ).items():
            if isinstance(found, Broker):
                kept.keepers[name] = found
            else:
                failures[name] = found
        lookups = offset_requests(kept, due, ids)
        silent = {
            broker: lookup for broker, lookup in lookups.items() if broker.id not in answering
        }
        for broker, groups in silent.items():
            failures |= dict.fromkeys(groups, f"{broker} does not answer")
            del lookups[broker]
        read = self._coordinators.read_offsets(lookups, deadline)
        self._note_quiet(read)
        with self._lock:
            moved = read.moved | {name for groups in silent.values() for name in groups}
            failures |= read.failures
            whole = replace(read, failures=failures, moved=moved)
            kept.take_offsets(whole, now_ms, self._clock.wall_ms())

    def _due(self) -> Collection[str]:
        """Return the groups whose offsets in Kafka are due to be read."""
        now_ms, quiet_ms = self._clock.now_ms(), self._limits.quiet_ms
        resting = {
            name
            for name, since_ms in self._quiet_since_ms.items()
            if name not in self._kept.coordinator_groups and now_ms - since_ms < quiet_ms
        }
        known = self._kept.zookeeper_groups.keys() | self._kept.coordinator_groups.keys()
        return sorted(known - resting)

    def _needs_coordinator(self, name: str) -> bool:
        group = self._kept.coordinator_groups.get(name)
        has_coordinator = group is not None and group.coordinator is not None
        return name not in self._kept.keepers and not has_coordinator

    def _note_quiet(self, read: OffsetsRead) -> None:
        now_ms = self._clock.now_ms()
        for name, offsets in read.offsets.items():
            if offsets or self._has_yet_to_commit(name):
                self._quiet_since_ms.pop(name, None)
            else:
                self._quiet_since_ms[name] = now_ms

    def _has_yet_to_commit(self, name: str) -> bool:
        group = self._kept.zookeeper_groups.get(name)
        if group is None or not group.members:
            return False
        return not any(partition.committed for partition in group.partitions)

    def _through(self, kept: Kept) -> str | BrokersAlone:
        if self._zookeeper_connect is not None:
            return self._zookeeper_connect
        return BrokersAlone(bootstrap_servers=self._bootstrap, no_zookeeper=kept.no_zookeeper)

    def _deadline(self) -> Deadline:
        return Deadline(self._clock, self._limits.brokers_ms)
