"""Reads the parts of a snapshot from ZooKeeper and from brokers, each within its time limit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import ThreadScope
from zkconsumer.status.model import BrokerStatus, Seen
from zkconsumer.status.reading.broker_cluster import BrokerSource
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC, CoordinatorReader
from zkconsumer.status.reading.deadline import Deadline, ReadingLimits
from zkconsumer.status.reading.kept import offset_requests
from zkconsumer.status.reading.logs import LogReader
from zkconsumer.status.reading.part import Part
from zkconsumer.status.reading.quiet_groups import QuietGroups
from zkconsumer.status.reading.reader_state import ReaderState
from zkconsumer.status.reading.round_clock import RoundClock
from zkconsumer.status.reading.sessions import Sessions
from zkconsumer.status.reading.values import ClusterRead, GroupsRead, OffsetsRead, Unanswered
from zkconsumer.status.reading.zookeeper_cluster import ZookeeperSource
from zkconsumer.status.reading.zookeeper_groups import ZookeeperGroups

Addresses: TypeAlias = Callable[[Sequence[BrokerStatus]], Mapping[int, Broker]]
"""Returns the addresses of brokers, by id."""
LiveSessions: TypeAlias = Seen[frozenset[int]] | None
"""The live ZooKeeper sessions, and when they were requested; None: unknown."""


class ClusterPart:
    """Reads brokers and topics when they are due. Thread: one."""

    def __init__(
        self,
        source: ZookeeperSource | BrokerSource,
        state: ReaderState,
        scope: ThreadScope,
        clock: RoundClock,
        limits: ReadingLimits,
    ) -> None:
        self._source = source
        self._part: Part[ClusterRead] = Part("cluster", scope, clock, source.requested)
        self._state = state
        self._clock = clock
        self._limits = limits
        self._read_ms: int | None = None

    def read(self) -> None:
        """Read and record brokers and topics, unless they were read a moment ago."""
        read_ms, every_ms = self._read_ms, self._limits.cluster_every_ms
        if read_ms is not None and self._clock.now_ms() - read_ms < every_ms:
            return
        found = self._part.begin(self._source.read, self._limits.cluster_ms)()
        self._state.record(self._state.kept.take_cluster, found)
        if isinstance(found, ClusterRead):
            self._read_ms = self._clock.now_ms()


class ZookeeperParts:
    """Reads groups and sessions from ZooKeeper while brokers are queried. Thread: one."""

    def __init__(
        self,
        groups: ZookeeperGroups | None,
        sessions: Sessions | None,
        scope: ThreadScope,
        clock: RoundClock,
        limits: ReadingLimits,
    ) -> None:
        self._groups = groups
        self._sessions = sessions
        self._groups_part: Part[GroupsRead] = Part("groups", scope, clock)
        self._sessions_part: Part[LiveSessions] = Part("sessions", scope, clock)
        self._clock = clock
        self._limits = limits

    def begin_groups(
        self, topics: Mapping[str, Sequence[int]], first: Collection[str]
    ) -> Callable[[], GroupsRead | Unanswered]:
        """Begin to read the groups; return the function that waits for them."""
        groups = self._groups
        if groups is None:
            return lambda: GroupsRead(listed=frozenset(), groups={})
        return self._groups_part.begin(
            lambda deadline: groups.read(topics, deadline, first), self._limits.groups_ms
        )

    def begin_sessions(self) -> Callable[[], LiveSessions | Unanswered]:
        """Begin to read the live sessions; after the groups, or new members would seem dead."""
        request = self._sessions
        if request is None:
            return lambda: None

        def read(deadline: Deadline) -> LiveSessions:
            at_ms = self._clock.wall_ms()
            found = request(deadline)
            return None if found is None else Seen(found, at_ms)

        return self._sessions_part.begin(read, self._limits.sessions_ms)


class BrokerParts:
    """Reads and records logs, groups and offsets from brokers. Thread: one; ``close``: any."""

    def __init__(
        self,
        dialer: BrokerDialer,
        state: ReaderState,
        clock: RoundClock,
        limits: ReadingLimits,
        *,
        must_list: bool,
    ) -> None:
        self._round = BrokerRound(dialer, clock)
        self._logs = LogReader(self._round, clock)
        self._coordinators = CoordinatorReader(self._round, clock, must_list=must_list)
        self._quiet = QuietGroups(limits.quiet_ms)
        self._state = state
        self._clock = clock
        self._limit_ms = limits.brokers_ms

    def read_logs_and_groups(self, addresses: Mapping[int, Broker]) -> dict[int, Broker]:
        """Read logs, then groups; return the addresses of the brokers that responded."""
        kept = self._state.kept
        logs = self._logs.read(kept.leaders(addresses), self._deadline())
        read = replace(logs, logs={**logs.logs, **kept.unasked(addresses)})
        self._state.record(kept.take_logs, read)
        # Brokers that just failed to respond are not waited for again.
        answering = {id_: broker for id_, broker in addresses.items() if id_ not in logs.failures}
        found = self._coordinators.read_groups(list(answering.values()), self._deadline())
        failures = {**logs.failures, **found.failures}
        self._state.record(kept.take_coordinators, replace(found, failures=failures))
        return {id_: broker for id_, broker in addresses.items() if id_ not in failures}

    def read_offsets(self, answering: Mapping[int, Broker]) -> None:
        """Read the offsets in Kafka that are due from the brokers that responded."""
        kept, began_ms = self._state.kept, self._clock.wall_ms()
        read = self._offsets(answering)
        self._state.record(lambda found, now_ms: kept.take_offsets(found, began_ms, now_ms), read)

    def _offsets(self, answering: Mapping[int, Broker]) -> OffsetsRead:
        kept = self._state.kept
        ids = kept.partition_ids() or {}
        if not ids.get(OFFSETS_TOPIC):
            # A coordinator lookup would create the topic; and without it no offsets are stored.
            return OffsetsRead(offsets={}, failures={}, moved=frozenset())
        deadline = self._deadline()
        due = self._quiet.due(kept, self._clock.now_ms())
        unknown = [name for name in due if kept.coordinator_of_offsets(name) is None]
        found = self._coordinators.find(unknown, list(answering.values()), deadline)
        coordinators = {
            name: broker for name, broker in found.items() if isinstance(broker, Broker)
        }
        failures = {name: reason for name, reason in found.items() if isinstance(reason, str)}
        kept.offset_coordinators = {**kept.offset_coordinators, **coordinators}
        lookups = offset_requests(kept, due, ids)
        silent = {
            name: f"{broker} did not respond"
            for broker, groups in lookups.items()
            for name in groups
            if broker.id not in answering
        }
        sent = {broker: groups for broker, groups in lookups.items() if broker.id in answering}
        read = self._coordinators.read_offsets(sent, deadline)
        self._quiet.note(read, kept, self._clock.now_ms())
        failures = {**failures, **silent, **read.failures}
        return replace(read, failures=failures, moved=read.moved | silent.keys())

    def close(self, timeout_ms: int) -> None:
        """Interrupt running queries. Idempotent. Thread: any."""
        self._round.close(timeout_ms)

    def _deadline(self) -> Deadline:
        return Deadline(self._clock, self._limit_ms)
