"""A snapshot of a cluster: brokers, topics, groups of both kinds. Pure values.

The one rule: a part that could not be read, or is invalid, has a ``problem`` or a ``PartFailure``
with the reason in plain words; it never hides the rest. None always means *unknown* (or absent,
where the attribute says so), never zero.

Times are in ms since the epoch, by the local clock unless stated otherwise. Committed offsets are
the next to read; ``log_end`` is the offset of the next record (the high watermark as a consumer
sees it).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.nodes import Pattern

T = TypeVar("T")

Storage: TypeAlias = Literal["zookeeper", "kafka"]
"""The storage of committed offsets, as ``offsets.storage`` names it."""


class GroupKind(StrEnum):
    """The kind of a group, by what coordinates it; users read the values, and URLs contain them."""

    ZOOKEEPER = "zookeeper"
    COORDINATOR = "coordinator"


class GroupState(StrEnum):
    """The state of a group, in the same words for both kinds; the values are what users read.

    ``status.group_state`` determines it, and describes each.
    """

    STABLE = "stable"
    REBALANCING = "rebalancing"
    EMPTY = "empty"
    DEAD = "dead"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class GroupKey(NamedTuple):
    """The identity of a group: the same id can be in use in ZooKeeper and at a coordinator."""

    kind: GroupKind
    group_id: str

    def __str__(self) -> str:
        return f"{self.kind} group {self.group_id}"


@dataclass(frozen=True, slots=True)
class Seen(Generic[T]):
    """A value and when it was read."""

    value: T
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFailure:
    """A part of the snapshot that could not be read; its last known state is kept.

    Attributes:
        part: its name in plain words, such as ``log ends of broker 2``.
        reason: why it failed.
        since_ms: when it began to fail.
        group_id: the only group that it concerns, if so.
    """

    part: str
    reason: str
    since_ms: int
    group_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """A registered broker.

    Attributes:
        broker: its id and address; host "" and port -1 if its registration has none.
        seen_ms: when its registration was read.
        is_controller: whether it is the controller; None if unknown.
        jmx_port: its JMX port; None if it has none, or if ZooKeeper was not read.
        registered_ms: when it registered, by its own clock.
        created_ms: when its node was created, by ZooKeeper's clock.
        problem: why its registration is invalid, or why it does not respond.
    """

    broker: Broker
    seen_ms: int
    is_controller: bool | None = False
    jmx_port: int | None = None
    registered_ms: int | None = None
    created_ms: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """A partition of a topic.

    Attributes:
        topic_partition: the partition.
        leader: the broker id of its leader; None if it has none, or its node can't be used.
        replicas: broker ids in the order of assignment, the preferred leader first.
        in_sync: broker ids of the in-sync replicas.
        log_start: the log start offset.
        log_end: the offset of the next record.
        offsets_at_ms: when both offsets were read; None if never.
        problem: why some of this is unknown.
        lacks_replica: whether an offline replica is missing from ``replicas``: brokers of 0.9 omit
            those.
    """

    topic_partition: TopicPartition
    leader: int | None
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()
    log_start: int | None = None
    log_end: int | None = None
    offsets_at_ms: int | None = None
    problem: str | None = None
    lacks_replica: bool = False

    @property
    def leaderless(self) -> bool:
        """Whether it has no leader, so that it can't be read or written."""
        return self.leader is None

    @property
    def under_replicated(self) -> bool:
        """Whether a replica is not in sync."""
        return self.lacks_replica or len(self.in_sync) < len(self.replicas)

    @property
    def preferred(self) -> bool:
        """Whether its preferred leader leads it."""
        return self.leader is not None and self.replicas[:1] == (self.leader,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatus:
    """A topic.

    Attributes:
        name: its name.
        seen_ms: when partitions and leaders were read.
        partitions: ascending by number; may be empty.
        config: the topic-level settings, as in its node; None if unknown.
        deleting: whether its deletion was requested; None if unknown.
        problem: why its node is invalid, or the error that brokers report.
    """

    name: str
    seen_ms: int
    partitions: tuple[PartitionStatus, ...] = ()
    config: Mapping[str, str] | None = field(default_factory=dict)
    deleting: bool | None = False
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStatus:
    """A member of a group.

    Attributes:
        member_id: the consumer id (ZooKeeper) or the member id (coordinator).
        host: its host, if known.
        client_id: its client id (coordinator).
        streams: the topics it reads, wildcards expanded, in the order of its registration, each
            with its number of streams; always 1 at a coordinator.
        pattern: the subscription pattern of its registration (ZooKeeper).
        regex: its wildcard (ZooKeeper); None if it names topics.
        instance_id: ``group.instance.id`` of a static member (coordinator, KIP-345).
        session_id: the session of its node (ZooKeeper); 0: none, so the node never expires.
        registered_ms: when it registered, by its own clock (ZooKeeper).
        created_ms: when its node was created, by ZooKeeper's clock.
        assignor: its assignor (coordinator: the protocol's name); unknown of ZooKeeper members.
        data: the content of its node, verbatim (ZooKeeper).
        problem: why its registration is malformed or blocks others; None if it is valid.
    """

    member_id: str
    host: str | None = None
    client_id: str | None = None
    streams: Mapping[str, int] = field(default_factory=dict)
    pattern: Pattern | None = None
    regex: str | None = None
    instance_id: str | None = None
    session_id: int | None = None
    registered_ms: int | None = None
    created_ms: int | None = None
    assignor: str | None = None
    data: bytes | None = None
    problem: str | None = None


# A large cluster has half a million of each of the next two: named tuples are created more than
# twice as fast as frozen dataclasses.
class CommittedOffset(NamedTuple):
    """A committed offset of a group.

    Attributes:
        offset: the next offset to read.
        storage: where it is stored.
        seen_ms: when it was read.
        committed_ms: when it was committed, by the clock of ZooKeeper or the broker, if known.
    """

    offset: int
    storage: Storage
    seen_ms: int
    committed_ms: int | None = None


class GroupPartition(NamedTuple):
    """A partition that a member of the group reads or owns, or that has a committed offset.

    Attributes:
        topic_partition: the partition; may no longer exist.
        owner: the thread id (ZooKeeper) or the member id (coordinator) of its owner; None: unowned.
        owner_session: the session of the owner node (ZooKeeper); 0: none.
        owner_since_ms: when the owner node was created, by ZooKeeper's clock.
        committed: one for each storage that has one.
        log_start: as in ``PartitionStatus``.
        log_end: as in ``PartitionStatus``.
        log_at_ms: when both were read.
        problem: of its nodes, or why its offset is unknown.
        next_written_ms: the timestamp of the next record to read; None if the log has none, if it
            was not read, or if there is no record left.
    """

    topic_partition: TopicPartition
    owner: str | None = None
    owner_session: int | None = None
    owner_since_ms: int | None = None
    committed: tuple[CommittedOffset, ...] = ()
    log_start: int | None = None
    log_end: int | None = None
    log_at_ms: int | None = None
    problem: str | None = None
    next_written_ms: int | None = None

    def committed_in(self, storage: Storage) -> CommittedOffset | None:
        """Return the committed offset in a storage."""
        for committed in self.committed:
            if committed.storage == storage:
                return committed
        return None

    def effective(self, kind: GroupKind) -> CommittedOffset | None:
        """Return the offset that the group would continue from.

        A coordinator's group reads from Kafka. A ZooKeeper group can have offsets in either
        storage; its members' setting is not visible, so the larger counts, as for members that
        commit to both. If they are equal: ZooKeeper's.

        Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector.fetchOffsets``.
        """
        in_zookeeper, in_kafka = self.committed_in("zookeeper"), self.committed_in("kafka")
        if kind is GroupKind.COORDINATOR or in_zookeeper is None:
            return in_kafka
        if in_kafka is None or in_kafka.offset <= in_zookeeper.offset:
            return in_zookeeper
        return in_kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """A group.

    Attributes:
        group_id: its id.
        kind: what coordinates it.
        seen_ms: when members and owners were read.
        state: its state.
        members: ascending by member id.
        partitions: ascending by topic and number.
        reported_state: its state, as the coordinator names it.
        protocol: the assignor in use (coordinator), if any.
        coordinator: the broker that coordinates it, or stores its offsets.
        problems: what could not be read or parsed, in plain words.
        is_complete: whether all members and owners could be read; if not, absence proves nothing.
        last_commit_ms: when it last committed, by the local clock; None if unknown.
        offsets_unchanged_since_ms: since when its offsets in Kafka, which have no commit times,
            were seen unchanged; None if it has none there, or has members.
        only_offsets: whether its coordinator only stores its offsets, and no member ever joined:
            the committing clients may be a group in ZooKeeper, or no group.
        only_listed: whether its coordinator lists it, but its members can't be read.
    """

    group_id: str
    kind: GroupKind
    seen_ms: int
    state: GroupState = GroupState.UNKNOWN
    members: tuple[MemberStatus, ...] = ()
    partitions: tuple[GroupPartition, ...] = ()
    reported_state: str | None = None
    protocol: str | None = None
    coordinator: Broker | None = None
    problems: tuple[str, ...] = ()
    is_complete: bool = True
    last_commit_ms: int | None = None
    offsets_unchanged_since_ms: int | None = None
    only_offsets: bool = False
    only_listed: bool = False

    @property
    def key(self) -> GroupKey:
        """Its identity."""
        return GroupKey(self.kind, self.group_id)

    @property
    def members_by_id(self) -> dict[str, MemberStatus]:
        """All members, by member id."""
        return {member.member_id: member for member in self.members}

    @property
    def by_partition(self) -> dict[TopicPartition, GroupPartition]:
        """The status of each partition."""
        return {partition.topic_partition: partition for partition in self.partitions}

    @property
    def topics_read(self) -> frozenset[str]:
        """The topics that members subscribe to, whether they exist or not."""
        return frozenset(topic for member in self.members for topic in member.streams)

    @property
    def sessions(self) -> frozenset[int]:
        """The sessions of its nodes in ZooKeeper."""
        found = {member.session_id for member in self.members}
        found |= {partition.owner_session for partition in self.partitions}
        return frozenset(session_id for session_id in found if session_id)

    @property
    def last_change_ms(self) -> int | None:
        """When the last member or owner appeared, by ZooKeeper's clock; None if unknown."""
        times = [member.created_ms for member in self.members]
        times += [partition.owner_since_ms for partition in self.partitions]
        return max((time for time in times if time is not None), default=None)

    @property
    def read_ms(self) -> int:
        """When the oldest of its members, owners and effective offsets was read."""
        offsets = (partition.effective(self.kind) for partition in self.partitions)
        times = (committed.seen_ms for committed in offsets if committed is not None)
        return min(self.seen_ms, min(times, default=self.seen_ms))

    @property
    def oldest_ms(self) -> int:
        """When the oldest of these and the log ends was read."""
        logs = (
            partition.log_at_ms for partition in self.partitions if partition.log_at_ms is not None
        )
        return min(self.read_ms, min(logs, default=self.seen_ms))

    @property
    def silent_since_ms(self) -> int | None:
        """Since when it has not committed, as far as known; it may be longer."""
        known = [m for m in (self.last_commit_ms, self.offsets_unchanged_since_ms) if m is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAlone:
    """A cluster read through its brokers only: no ZooKeeper is configured, or it has none.

    Only ZooKeeper knows its groups, their members, owners and offsets, its clock and sessions, when
    brokers registered, topic configs, and topics being deleted: all of that is unknown.

    Attributes:
        bootstrap_servers: the bootstrap brokers, as ``host:port``, comma-separated.
        no_zookeeper: whether the cluster has none (KRaft), as a broker reports it; None before the
            first response.

    Example:
        >>> print(BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=True).unknown)
        ZooKeeper groups: unknown, since the cluster has none
    """

    bootstrap_servers: str
    no_zookeeper: bool | None = None

    @property
    def why(self) -> str:
        """The reason why groups in ZooKeeper are unknown."""
        return "the cluster has none" if self.no_zookeeper else "no ZooKeeper was given"

    @property
    def unknown(self) -> str:
        """A line about the groups that are unknown, and why."""
        return f"ZooKeeper groups: unknown, since {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster at one moment.

    Attributes:
        taken_ms: when it was assembled; its parts can be older.
        zookeeper_connect: the connect string, with its chroot; None if only brokers were read: then
            ZooKeeper groups are unknown.
        brokers: ascending by id.
        topics: ascending by name.
        groups: of both kinds.
        failures: the parts that could not be read this time.
        live_sessions: the live ZooKeeper sessions; None if unknown.
        clock_skew_ms: how far ZooKeeper's clock is ahead of the local one; negative: behind.
        no_brokers: why no broker is registered, if that was read; None if there are some.
        brokers_alone: how it was read without ZooKeeper; None if ZooKeeper was read.
        clock_ahead_ms: how far the local clock was ahead of the monotonic one; see ``set_back``.
    """

    taken_ms: int
    zookeeper_connect: str | None
    brokers: tuple[BrokerStatus, ...] = ()
    topics: tuple[TopicStatus, ...] = ()
    groups: Mapping[GroupKey, GroupStatus] = field(default_factory=dict)
    failures: tuple[PartFailure, ...] = ()
    live_sessions: frozenset[int] | None = None
    clock_skew_ms: Seen[int] | None = None
    no_brokers: NoBrokers | None = None
    brokers_alone: BrokersAlone | None = None
    clock_ahead_ms: int = 0

    @property
    def monotonic_ms(self) -> int:
        """When it was assembled, by the monotonic clock."""
        return self.taken_ms - self.clock_ahead_ms

    @property
    def skew_ms(self) -> int:
        """How far ZooKeeper's clock is ahead of the local one; 0 if unknown."""
        return 0 if self.clock_skew_ms is None else self.clock_skew_ms.value

    @property
    def address(self) -> str:
        """The address by which the cluster was reached, which identifies it."""
        alone = self.brokers_alone
        return self.zookeeper_connect or ("" if alone is None else alone.bootstrap_servers)

    @property
    def zookeeper(self) -> Literal["read", "none", "unknown"]:
        """Whether its ZooKeeper was read, does not exist, or is unknown."""
        if self.brokers_alone is None:
            return "read"
        return "none" if self.brokers_alone.no_zookeeper else "unknown"

    def partition_ids(self) -> dict[str, tuple[int, ...]]:
        """Return the partition numbers of every topic, ascending, as assignors need them."""
        return ids_of_partitions(self.topics)


def ids_of_partitions(topics: Iterable[TopicStatus]) -> dict[str, tuple[int, ...]]:
    """Return the partition numbers of each topic, ascending."""
    return {
        topic.name: tuple(partition.topic_partition.partition for partition in topic.partitions)
        for topic in topics
    }
