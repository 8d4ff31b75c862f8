"""A group with the context that its diagnoses need."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Strategy
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances, zookeeper_now_ms
from zkconsumer.status.doctor.sightings import SightingsOfGroup
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.verify import (
    MisownedPartition,
    OwnershipFault,
    PartitionIds,
    expected_owners,
    group_view,
    owner_of,
    ownership_faults,
)
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import parse_registration
from zkconsumer.zk.paths import GroupPaths

Shares = Mapping[str, frozenset[TopicPartition]]
"""The partitions that each member reads, by member id."""


@dataclass(frozen=True)
class GroupContext:
    """A group, the cluster around it, and what follows from both.

    Attributes:
        group: the group.
        snapshot: the cluster that the group belongs to.
        around: earlier snapshots and settings.
        partition_ids: the partition numbers of every topic of the cluster.
    """

    group: GroupStatus
    snapshot: ClusterSnapshot
    around: Circumstances
    partition_ids: PartitionIds

    @property
    def in_zookeeper(self) -> bool:
        """Whether its members register in ZooKeeper."""
        return self.group.kind is GroupKind.ZOOKEEPER

    @property
    def paths(self) -> GroupPaths:
        """Its nodes, if it is in ZooKeeper; a group that was read there has a name for paths."""
        return GroupPaths(self.group.group_id)

    @cached_property
    def members(self) -> dict[str, MemberStatus]:
        """All registered members, by member id."""
        return self.group.members_by_id

    @cached_property
    def readable(self) -> dict[str, MemberStatus]:
        """The members with known subscriptions."""
        return {member.member_id: member for member in self.group.members if is_readable(member)}

    @property
    def all_readable(self) -> bool:
        """Whether all subscriptions are known, so that assignments can be computed."""
        return self.group.is_complete and len(self.readable) == len(self.members)

    @cached_property
    def partitions(self) -> dict[TopicPartition, GroupPartition]:
        """The group's partitions."""
        return self.group.by_partition

    @cached_property
    def partitions_long_before(self) -> dict[TopicPartition, GroupPartition]:
        """The group's partitions in a snapshot so old that a working group has committed since.

        Empty without such a snapshot.
        """
        if self.around.silence_seen_ms(self.snapshot) < self.around.silence_ms:
            return {}
        since = self.around.silent_since
        group = None if since is None else since.groups.get(self.group.key)
        return {} if group is None else group.by_partition

    @property
    def sightings(self) -> SightingsOfGroup:
        """The offsets of the group that were seen beyond the ends of logs."""
        return self.around.sightings.get(self.group.key, {})

    @cached_property
    def faults(self) -> tuple[MisownedPartition, ...]:
        """The partitions that are not owned as they should be, ascending."""
        return ownership_faults(self.group, self.partition_ids, self.snapshot.live_sessions)

    @cached_property
    def unowned(self) -> tuple[TopicPartition, ...]:
        """The subscribed partitions without an owner, in order."""
        return tuple(
            fault.topic_partition for fault in self.faults if fault.fault is OwnershipFault.UNOWNED
        )

    @cached_property
    def view(self) -> GroupView:
        """The group as the assignors of ZooKeeper groups see it."""
        return group_view(self.group, self.partition_ids)

    @cached_property
    def owned(self) -> dict[str, frozenset[TopicPartition]]:
        """The correctly owned partitions of each live member; members without any are included."""
        found: dict[str, set[TopicPartition]] = {member_id: set() for member_id in self.members}
        faulty = {fault.topic_partition for fault in self.faults}
        for tp, partition in self.partitions.items():
            owner = None if partition.owner is None else self.member_of(partition.owner)
            if owner in found and tp not in faulty:
                found[owner].add(tp)
        return {member_id: frozenset(of_member) for member_id, of_member in found.items()}

    @cached_property
    def settling(self) -> bool:
        """Whether the last change is so recent that a rebalance may be in progress."""
        changed_ms = self.group.last_change_ms
        if changed_ms is None:
            return False
        return zookeeper_now_ms(self.snapshot) - changed_ms < self.around.settle_ms

    def member_of(self, owner: str) -> str | None:
        """Return the member id in the text of an owner; None without one."""
        member_id, thread = owner_of(self.group.kind, owner)
        return None if self.in_zookeeper and thread is None else member_id

    def dead(self, session_id: int | None) -> bool:
        """Return whether a session is known to be dead.

        That takes the sessions of the whole ensemble: one server's connections are not enough.
        """
        alive = self.snapshot.live_sessions
        return bool(session_id) and alive is not None and session_id not in alive

    def threads(self, strategy: Strategy) -> dict[TopicPartition, ConsumerThreadId] | None:
        """Return the assignment by a strategy; None if it can't be applied."""
        found = expected_owners(strategy, self.view)
        return None if isinstance(found, CannotAssign) else found

    @cached_property
    def range_shares(self) -> Shares | None:
        """Each member's partitions by range."""
        return self._shares("range")

    @cached_property
    def round_robin_shares(self) -> Shares | None:
        """Each member's partitions by round-robin; None if subscriptions are unequal."""
        return self._shares("roundrobin")

    def _shares(self, strategy: Strategy) -> Shares | None:
        threads = self.threads(strategy)
        if threads is None:
            return None
        found: dict[str, set[TopicPartition]] = {member_id: set() for member_id in self.members}
        for tp, thread in threads.items():
            found[thread.consumer_id].add(tp)
        return {member_id: frozenset(of_member) for member_id, of_member in found.items()}


def is_malformed(member: MemberStatus) -> bool:
    """Return whether members of ZooKeeper groups can't parse the registration."""
    return member.data is not None and isinstance(parse_registration(member.data), Malformed)


def is_readable(member: MemberStatus) -> bool:
    """Return whether the subscription is known; one that only Scala can't parse counts."""
    return not is_malformed(member) and (member.problem is None or bool(member.streams))
