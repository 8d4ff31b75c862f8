"""Verifies that everything a group should read is owned, and by the right members. Pure.

A ZooKeeper group is sound when every partition of every topic that a member reads has an owner node
with the thread id of a registered member that has such a stream for the topic, and the node was
created in that member's session. The original's ``VerifyConsumerRebalance`` is meant to check all
of this except the session, but fails every healthy group (fixed by KAFKA-3952 in 0.10.1).

At a coordinator, every such partition must be assigned to a member.

The owners are also compared with the result of each assignor: members that disagree on the assignor
never settle, and no node in ZooKeeper shows which one they use.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Owners, Strategy, assign
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.status.model import GroupKind, GroupPartition, GroupStatus, MemberStatus

STRATEGIES: tuple[Strategy, ...] = ("range", "roundrobin")

PartitionIds = Mapping[str, tuple[int, ...]]
"""The partition numbers of every topic of the cluster."""


class OwnershipFault(StrEnum):
    """A fault of a partition's ownership; the values are what users read."""

    UNOWNED = "nobody owns it"
    NO_THREAD_ID = "its owner is not a thread id"
    NO_MEMBER = "its owner is not registered"
    NO_STREAM = "its owner has no such stream for this topic"
    OTHER_SESSION = "its owner node belongs to another session than its owner"
    NO_SESSION = "its owner node belongs to no session, so it is never deleted"
    DEAD_SESSION = "the session of its owner node is dead"
    NOT_READ = "it is owned, but no member reads its topic"
    NO_PARTITION = "it is owned, but there is no such partition"


_OF_MISSING = frozenset({OwnershipFault.UNOWNED, OwnershipFault.NO_MEMBER, OwnershipFault.NOT_READ})
"""Faults that may be due to a node that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MisownedPartition:
    """A partition that is not owned as it should be.

    Attributes:
        topic_partition: the partition.
        fault: its fault.
        owner: the content of its owner node; None if it has none.
        owner_session: the session of that node.
        member_session: the session of the owner's registration.
    """

    topic_partition: TopicPartition
    fault: OwnershipFault
    owner: str | None = None
    owner_session: int | None = None
    member_session: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The result of one assignor, compared with the owners.

    Attributes:
        differing: the partitions whose owner differs.
        reason: why it can't be applied to this group; None if it can.
    """

    differing: tuple[TopicPartition, ...] = ()
    reason: str | None = None

    @property
    def met(self) -> bool:
        """Whether the owners match it exactly."""
        return self.reason is None and not self.differing


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of a verification.

    Attributes:
        checked: the number of partitions that the group should read.
        faults: ascending by partition.
        malformed: the members with a registration that all or some others can't use; the original's
            members fail every rebalance while there is one.
        missing_topics: subscribed topics that do not exist.
        expectations: the result of each assignor (ZooKeeper groups with members only).
        counts: the number of partitions of each owner, as its node names it.
        is_complete: whether all members and owners could be read; if not, there may be more faults.
    """

    checked: int
    faults: tuple[MisownedPartition, ...] = ()
    malformed: tuple[str, ...] = ()
    missing_topics: tuple[str, ...] = ()
    expectations: Mapping[Strategy, Expectation] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    is_complete: bool = True

    @property
    def sound(self) -> bool:
        """Whether there is no fault; a group without members is sound."""
        return self.is_complete and not self.faults and not self.malformed

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """The assignors that match the owners; both may, for small groups."""
        return tuple(name for name, expectation in self.expectations.items() if expectation.met)


def verify(
    group: GroupStatus,
    partition_ids: PartitionIds,
    live_sessions: frozenset[int] | None = None,
) -> Verification:
    """Verify a group's ownership, and compare it with each assignor.

    Args:
        group: of either kind.
        partition_ids: of all topics of the cluster; a missing topic has no partitions.
        live_sessions: the live ZooKeeper sessions; None if unknown.
    """
    owners = {
        partition.topic_partition: partition.owner
        for partition in group.partitions
        if partition.owner is not None
    }
    read = group.topics_read
    return Verification(
        checked=sum(len(partition_ids.get(topic, ())) for topic in read),
        faults=ownership_faults(group, partition_ids, live_sessions),
        malformed=malformed_members(group),
        missing_topics=tuple(sorted(topic for topic in read if topic not in partition_ids)),
        expectations=dict(_expectations(group, partition_ids, owners)),
        counts=dict(sorted(Counter(owners.values()).items())),
        is_complete=group.is_complete,
    )


def ownership_faults(
    group: GroupStatus,
    partition_ids: PartitionIds,
    live_sessions: frozenset[int] | None = None,
) -> tuple[MisownedPartition, ...]:
    """Return the partitions that are not owned as they should be, ascending; see ``verify``.

    If the group was not read completely, nothing is reported as missing.
    """
    wanted = frozenset(
        TopicPartition(topic, number)
        for topic in group.topics_read
        for number in partition_ids.get(topic, ())
    )
    judge = _Judge(group.kind, group.members_by_id, wanted, partition_ids, live_sessions)
    faults = [
        fault
        for partition in group.partitions
        if partition.owner is not None
        and (fault := judge.fault_of(partition, partition.owner)) is not None
    ]
    owned = {
        partition.topic_partition for partition in group.partitions if partition.owner is not None
    }
    faults.extend(
        MisownedPartition(topic_partition=tp, fault=OwnershipFault.UNOWNED) for tp in wanted - owned
    )
    if not group.is_complete:
        faults = [fault for fault in faults if fault.fault not in _OF_MISSING]
    return tuple(sorted(faults, key=lambda fault: fault.topic_partition))


def owner_of(kind: GroupKind, owner: str) -> tuple[str, int | None]:
    """Return the member that an owner names, and the number of its stream in a ZooKeeper group.

    The text of an owner that is no thread id stands for the member.
    """
    thread = ConsumerThreadId.parse(owner) if kind is GroupKind.ZOOKEEPER else None
    return (owner, None) if thread is None else (thread.consumer_id, thread.thread)


def malformed_members(group: GroupStatus) -> tuple[str, ...]:
    """Return the members with a registration that all or some others can't use."""
    return tuple(member.member_id for member in group.members if member.problem is not None)


def group_view(group: GroupStatus, partition_ids: PartitionIds) -> GroupView:
    """Return the assignors' view of this group: its members and the topics they read.

    A member with an unknown subscription reads nothing.
    """
    return GroupView(
        {member.member_id: member.streams for member in group.members},
        {topic: partition_ids[topic] for topic in group.topics_read if topic in partition_ids},
    )


def expected_owners(
    strategy: Strategy, view: GroupView
) -> dict[TopicPartition, ConsumerThreadId] | CannotAssign:
    """Return the assignment, in which each member computes its own share as in the original.

    Members whose registrations name the topics in the same order compute the same assignment, so
    it is computed once for each order; for range the order does not matter.
    """
    owners: dict[TopicPartition, ConsumerThreadId] = {}
    by_order: dict[tuple[str, ...], Owners] = {}
    for consumer_id, read in view.members.items():
        order = () if strategy == "range" else tuple(read)
        found = by_order.get(order)
        if found is None:
            computed = assign(strategy, view, consumer_id)
            if isinstance(computed, CannotAssign):
                return computed
            found = by_order[order] = computed
        owners.update(
            (tp, owner) for tp, owner in found.items() if owner.consumer_id == consumer_id
        )
    return owners


def _expectations(
    group: GroupStatus, partition_ids: PartitionIds, owners: Mapping[TopicPartition, str]
) -> Iterator[tuple[Strategy, Expectation]]:
    if group.kind is not GroupKind.ZOOKEEPER or not group.members:
        return
    view = group_view(group, partition_ids)
    for strategy in STRATEGIES:
        found = expected_owners(strategy, view)
        if isinstance(found, CannotAssign):
            yield strategy, Expectation(reason=found.reason)
            continue
        wanted = {tp: str(thread) for tp, thread in found.items()}
        differing = tuple(
            tp for tp in sorted({*wanted, *owners}) if wanted.get(tp) != owners.get(tp)
        )
        yield strategy, Expectation(differing=differing)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Finds the faults of a group's owned partitions."""

    kind: GroupKind
    members: Mapping[str, MemberStatus]
    wanted: frozenset[TopicPartition]
    partition_ids: PartitionIds
    live_sessions: frozenset[int] | None

    def fault_of(self, partition: GroupPartition, owner: str) -> MisownedPartition | None:
        """Return the worst fault of an owned partition; None if it has none."""
        tp = partition.topic_partition
        member_id, thread = owner_of(self.kind, owner)
        in_zookeeper = self.kind is GroupKind.ZOOKEEPER
        member = self.members.get(member_id)
        fault = self._misplaced(tp)
        if fault is None and in_zookeeper:
            fault = self._of_thread(tp, thread, member)
        elif fault is None and member is None:
            fault = OwnershipFault.NO_MEMBER
        if in_zookeeper:
            # An owner node that is never deleted is reported before any other fault.
            fault = self._of_session(partition, member, fault)
        if fault is None:
            return None
        return MisownedPartition(
            topic_partition=tp,
            fault=fault,
            owner=owner,
            owner_session=partition.owner_session,
            member_session=None if member is None else member.session_id,
        )

    def _misplaced(self, tp: TopicPartition) -> OwnershipFault | None:
        if tp in self.wanted:
            return None
        there = tp.partition in self.partition_ids.get(tp.topic, ())
        return OwnershipFault.NOT_READ if there else OwnershipFault.NO_PARTITION

    @staticmethod
    def _of_thread(
        tp: TopicPartition, thread: int | None, member: MemberStatus | None
    ) -> OwnershipFault | None:
        if thread is None:
            return OwnershipFault.NO_THREAD_ID
        if member is None:
            return OwnershipFault.NO_MEMBER
        if thread >= member.streams.get(tp.topic, 0):
            return OwnershipFault.NO_STREAM
        return None

    def _of_session(
        self, partition: GroupPartition, member: MemberStatus | None, fault: OwnershipFault | None
    ) -> OwnershipFault | None:
        session = partition.owner_session
        if session is None:
            return fault
        if session == 0:
            return OwnershipFault.NO_SESSION
        if self.live_sessions is not None and session not in self.live_sessions:
            return OwnershipFault.DEAD_SESSION
        if fault is None and member is not None and member.session_id not in {None, session}:
            return OwnershipFault.OTHER_SESSION
        return fault
