"""What is seen of a cluster at one moment: brokers, topics, groups of both kinds. Pure values.

The one rule: a part that could not be read, or is invalid, is a ``problem`` or a
``PartFailure`` with its reason in plain words; it never keeps the rest from being shown. None
always means *not known* (or not there, where the attribute says so), never zero.

Instants are in ms since the epoch, by the clock of whoever saw them unless said otherwise. Offsets
are the next to read; ``log_end`` is the offset that the next record gets (the high watermark as a
consumer sees it).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.brokers_alone import BrokersAlone
from zkconsumer.zk.absence import NoBrokers
from zkconsumer.zk.nodes import Pattern

T = TypeVar("T")

Storage: TypeAlias = Literal["zookeeper", "kafka"]
"""Where a committed offset is kept, as ``offsets.storage`` names it."""


class GroupKind(StrEnum):
    """Who keeps the group together; the values are what users read and addresses hold."""

    ZOOKEEPER = "zookeeper"
    COORDINATOR = "coordinator"


class GroupState(StrEnum):
    """How a group stands, in the same words for both kinds; the values are what users read.

    ``status.group_state`` finds it out, and says what each means.
    """

    STABLE = "stable"
    REBALANCING = "rebalancing"
    EMPTY = "empty"
    DEAD = "dead"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class GroupKey(NamedTuple):
    """What names a group: the same id can be in use in ZooKeeper and at a coordinator."""

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
    """A part of the snapshot that could not be read; what was known of it before is kept.

    Attributes:
        part: what was to be read, in plain words, such as ``log ends of broker 2``.
        reason: why it failed.
        since_ms: when it began to fail.
        group_id: the group that alone it is about, if it is about one.
    """

    part: str
    reason: str
    since_ms: int
    group_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """A broker that is registered.

    Attributes:
        broker: its id and address; host "" and port -1 where its registration names none.
        seen_ms: when its registration was read.
        is_controller: whether it leads the cluster; None where nobody tells.
        jmx_port: where it serves JMX; None where it does not, or where only ZooKeeper could tell.
        registered_ms: when it started, by its own clock.
        created_ms: when its node was made, by ZooKeeper's clock.
        problem: why its registration can't be used, or why it does not answer.
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
    """One partition of a topic.

    Attributes:
        topic_partition: which.
        leader: the id of the broker that leads it; None where it has no leader.
        replicas: ids of brokers in the order of assignment, the preferred leader first.
        in_sync: ids of the replicas that keep up.
        log_start: the first offset that its leader still has.
        log_end: the offset that the next record gets.
        offsets_at_ms: when the leader was asked for both; None where it never answered.
        problem: why something of this is not known.
        lacks_replica: whether one is away that is not even named among the replicas: brokers of
            0.9 leave those out.
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
        """Whether nobody leads it, so that nobody can read or write it."""
        return self.leader is None

    @property
    def under_replicated(self) -> bool:
        """Whether a replica is behind or gone."""
        return self.lacks_replica or len(self.in_sync) < len(self.replicas)

    @property
    def preferred(self) -> bool:
        """Whether the first of its replicas leads it."""
        return self.leader is not None and self.replicas[:1] == (self.leader,)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStatus:
    """A topic.

    Attributes:
        name: of the topic.
        seen_ms: when partitions and leaders were read.
        partitions: ascending by number; empty where it has none.
        config: what is set for this topic alone, as its node says; None where nobody was asked
            who knows.
        deleting: whether its deletion has been asked for; None as for ``config``.
        problem: why its node can't be used, or what brokers say is wrong with it.
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
        host: where it runs, as far as that is told.
        client_id: how it calls itself to the brokers (coordinator).
        streams: the topics it reads, wildcards expanded, in the order of its registration, each
            with its number of streams; always 1 at a coordinator.
        pattern: how its registration is meant (ZooKeeper).
        regex: the text of its wildcard (ZooKeeper); None where its topics are named.
        instance_id: ``group.instance.id`` of a static member (coordinator, KIP-345).
        session_id: the session that its node belongs to (ZooKeeper); 0: none, so nothing will ever
            delete the node by itself.
        registered_ms: when it registered, by its own clock (ZooKeeper).
        created_ms: when its node was made, by ZooKeeper's clock.
        assignor: how it would share out partitions (coordinator: the protocol's name); ZooKeeper
            members don't tell.
        data: what its node holds, as it stands there (ZooKeeper).
        problem: why its registration is malformed or stops others; None where it is sound.
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


# A large cluster has half a million of the next two: named tuples are made more than twice as fast
# as frozen dataclasses.
class CommittedOffset(NamedTuple):
    """An offset that the group has committed.

    Attributes:
        offset: the next to read.
        storage: where it is kept.
        seen_ms: when it was read.
        metadata: the committer's free text; ZooKeeper keeps none.
        committed_ms: when it was committed, by the clock of ZooKeeper or the broker, if told.
    """

    offset: int
    storage: Storage
    seen_ms: int
    metadata: str = ""
    committed_ms: int | None = None


class GroupPartition(NamedTuple):
    """One partition as the group has it: one that a member reads, owns, or has an offset of.

    Attributes:
        topic_partition: which; the cluster need not have it any more.
        owner: the thread id (ZooKeeper) or the member id (coordinator) that has it; None: nobody.
        owner_session: the session that the owner node belongs to (ZooKeeper); 0: none.
        owner_since_ms: when the owner node was made, by ZooKeeper's clock.
        committed: one for each storage that has one; both can be there.
        log_start: as in ``PartitionStatus``.
        log_end: as in ``PartitionStatus``.
        log_at_ms: when both were seen.
        problem: what is wrong with its nodes, or why its offset is not known.
        next_written_ms: when the record was written that is read next, by its own timestamp; None
            where the log has none, where nobody asked, or where nothing is left to read.
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
        """Return what this storage holds."""
        for one in self.committed:
            if one.storage == storage:
                return one
        return None

    def effective(self, kind: GroupKind) -> CommittedOffset | None:
        """Return where the group would go on reading.

        A coordinator's group reads from Kafka. A ZooKeeper group can have its offsets in either;
        from outside nobody sees which of them its members are set to, so the larger counts, as
        for members that commit to both. Equal ones: ZooKeeper's.

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
        kind: who keeps it together.
        seen_ms: when members and owners were read.
        state: how it stands.
        members: by member id, in the order of texts.
        partitions: ascending by topic and number.
        reported_state: the coordinator's own word for its state.
        protocol: the assignor in use (coordinator), if there is one.
        coordinator: the broker that keeps it together, or keeps its offsets.
        problems: what could not be read or understood, in plain words.
        whole: whether all members and owners could be read; where not, one that is missing here
            may well be there.
        last_commit_ms: when it last committed, by our clock; None where no storage tells.
        unmoved_since_ms: since when its offsets in Kafka, whose time nobody tells, were seen as
            they are; None where it has none there, or has members.
        only_offsets: whether its coordinator keeps offsets for it, and no member ever joined it
            there: those who commit them may meet in ZooKeeper, or nowhere.
        only_listed: whether its coordinator lists it, and can't describe it to us.
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
    whole: bool = True
    last_commit_ms: int | None = None
    unmoved_since_ms: int | None = None
    only_offsets: bool = False
    only_listed: bool = False

    @property
    def key(self) -> GroupKey:
        """What names it."""
        return GroupKey(self.kind, self.group_id)

    @property
    def silent_since_ms(self) -> int | None:
        """Since when it has not committed, as far as anybody can tell; it may be longer."""
        known = [one for one in (self.last_commit_ms, self.unmoved_since_ms) if one is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """All that is known of a cluster.

    Attributes:
        taken_ms: when it was put together; its parts can be older.
        zookeeper_connect: the connect string, with its chroot; None where it was read through its
            brokers alone: then no group of ZooKeeper is known, and none is known not to be.
        brokers: ascending by id.
        topics: ascending by name.
        groups: of both kinds.
        failures: what could not be read this time.
        live_sessions: the ZooKeeper sessions that are alive; None where ZooKeeper does not tell.
        clock_skew_ms: how far ZooKeeper's clock is ahead of ours; negative: behind.
        no_brokers: why no broker is registered, where that was read; None where there are some.
        brokers_alone: what it was read through instead of ZooKeeper; None where it was not.
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

    @property
    def address(self) -> str:
        """What it was reached by, which tells it from other clusters."""
        alone = self.brokers_alone
        return self.zookeeper_connect or ("" if alone is None else alone.bootstrap_servers)

    @property
    def zookeeper(self) -> Literal["read", "none", "unknown"]:
        """What it has of a ZooKeeper: it was read, the cluster has none, or nobody knows."""
        if self.brokers_alone is None:
            return "read"
        return "none" if self.brokers_alone.no_zookeeper else "unknown"

    def partition_ids(self) -> dict[str, tuple[int, ...]]:
        """Return the partition numbers of every topic, ascending, as assignors want them."""
        return {
            topic.name: tuple(one.topic_partition.partition for one in topic.partitions)
            for topic in self.topics
        }
