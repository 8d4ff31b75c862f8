"""One group as the doctor looks at it: who is whose, and who should read what."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.assignment.strategy import Assignment, Strategy, assign
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.status.doctor.circumstances import Circumstances, zookeeper_now_ms
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.zk.nodes import Malformed, parse_registration

Shares = Mapping[str, frozenset[TopicPartition]]
"""What each member reads, by member id."""


@dataclass(frozen=True)
class GroupLook:
    """A group, the cluster around it, and what follows from both.

    Attributes:
        group: the group.
        snapshot: the cluster; the group is one of its.
        around: what is known besides.
    """

    group: GroupStatus
    snapshot: ClusterSnapshot
    around: Circumstances

    @property
    def in_zookeeper(self) -> bool:
        """Whether its members register in ZooKeeper."""
        return self.group.kind is GroupKind.ZOOKEEPER

    @cached_property
    def members(self) -> dict[str, MemberStatus]:
        """Everybody who is registered, by member id."""
        return {one.member_id: one for one in self.group.members}

    @cached_property
    def readable(self) -> dict[str, MemberStatus]:
        """Those whose subscription is known."""
        return {one.member_id: one for one in self.group.members if is_readable(one)}

    @property
    def all_readable(self) -> bool:
        """Whether it is known what everybody reads, so that shares can be computed."""
        return len(self.readable) == len(self.members)

    @cached_property
    def partition_ids(self) -> dict[str, tuple[int, ...]]:
        """The partition numbers of every topic that a member reads and the cluster has."""
        topics = {topic for member in self.readable.values() for topic in member.streams}
        return {
            topic.name: tuple(one.topic_partition.partition for one in topic.partitions)
            for topic in self.snapshot.topics
            if topic.name in topics
        }

    @cached_property
    def partitions(self) -> dict[TopicPartition, GroupPartition]:
        """What is known of the group's partitions."""
        return {one.topic_partition: one for one in self.group.partitions}

    @cached_property
    def unowned(self) -> tuple[TopicPartition, ...]:
        """The partitions that members subscribe to and nobody owns, in order."""
        return tuple(
            tp
            for topic, numbers in sorted(self.partition_ids.items())
            for tp in (TopicPartition(topic, number) for number in numbers)
            if (known := self.partitions.get(tp)) is None or known.owner is None
        )

    @cached_property
    def view(self) -> GroupView:
        """The group as the assignors of ZooKeeper groups see it."""
        subscriptions = {
            member_id: MemberSubscription(member.streams)
            for member_id, member in self.readable.items()
        }
        return GroupView(subscriptions, self.partition_ids)

    @cached_property
    def owned(self) -> dict[str, frozenset[TopicPartition]]:
        """What each member that is there owns; those without anything as well."""
        found: dict[str, set[TopicPartition]] = {member_id: set() for member_id in self.members}
        for tp, partition in self.partitions.items():
            owner = None if partition.owner is None else self.member_of(partition.owner)
            if owner in found:
                found[owner].add(tp)
        return {member_id: frozenset(of_member) for member_id, of_member in found.items()}

    @cached_property
    def last_change_ms(self) -> int | None:
        """When a member or an owner last came, by ZooKeeper's clock; None where nobody says."""
        times = [one.created_ms for one in self.group.members]
        times += [one.owner_since_ms for one in self.group.partitions]
        return max((one for one in times if one is not None), default=None)

    @cached_property
    def settling(self) -> bool:
        """Whether somebody came so lately that the group may still be sharing out."""
        if self.last_change_ms is None:
            return False
        return zookeeper_now_ms(self.snapshot) - self.last_change_ms < self.around.settle_ms

    def member_of(self, owner: str) -> str | None:
        """The consumer id (or member id) that an owner's text names; None where it names none."""
        if not self.in_zookeeper:
            return owner
        thread = ConsumerThreadId.parse(owner)
        return None if thread is None else thread.consumer_id

    def dead(self, session_id: int | None) -> bool:
        """Whether ZooKeeper says what is alive, and this session is not."""
        alive = self.snapshot.live_sessions
        return bool(session_id) and alive is not None and session_id not in alive

    def threads(self, strategy: Strategy) -> dict[TopicPartition, ConsumerThreadId] | None:
        """Who should read what by a strategy; None where it can't be applied."""
        if not self.view.members:
            return {}
        found = assign(strategy, self.view, min(self.view.members))
        return dict(found.owners) if isinstance(found, Assignment) else None

    @cached_property
    def range_shares(self) -> Shares | None:
        """What each member should read by range."""
        return self._shares("range")

    @cached_property
    def round_robin_shares(self) -> Shares | None:
        """What each member should read by round-robin; None where subscriptions are unequal."""
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
    """Whether its registration is none that members of ZooKeeper groups can read."""
    if member.data is not None:
        return isinstance(parse_registration(member.data), Malformed)
    return member.problem is not None and not member.streams and member.regex is None


def is_readable(member: MemberStatus) -> bool:
    """Whether it is known what the member reads; one that only Scala can't read counts."""
    return not is_malformed(member) and (member.problem is None or bool(member.streams))
