"""What coordinators say about groups and their offsets, as a group's status. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from zkconsumer.error_codes import explained
from zkconsumer.errors import DecodeError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.offsets.coordinator_requests import Positions
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.wire.consumer_protocol import decode_assignment, decode_subscription
from zkconsumer.wire.messages.consumer_group_describe import ReconciledGroup
from zkconsumer.wire.messages.describe_groups import DescribedGroup, DescribedMember
from zkconsumer.wire.messages.list_groups import ListedGroup

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of groups that read topics; "" is one that only stores offsets."""

_CLASSIC: Final = frozenset({"", "classic"})
"""What ListGroups calls groups that DescribeGroups describes; before 3.8 it calls them nothing."""

DEAD: Final = "Dead"
"""The state of a group that its coordinator does not know (any more)."""


def is_described(group: ListedGroup) -> bool:
    """Return whether DescribeGroups says more of a group than the list does.

    A group whose coordinator shares out (KIP-848) is as good as dead for it.
    """
    return group.protocol_type == CONSUMER_PROTOCOL and group.type.lower() in _CLASSIC


def is_reconciled(group: ListedGroup) -> bool:
    """Whether ConsumerGroupDescribe says more of it: its coordinator shares out (KIP-848)."""
    return group.type.lower() == CONSUMER_PROTOCOL


def listed_status(group: ListedGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return a group of which no more is known than that it is there."""
    return GroupStatus(
        group_id=group.group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        reported_state=group.state or None,
        coordinator=coordinator,
        problems=_unlike(group),
        whole=group.type.lower() in _CLASSIC,
        only_listed=group.type.lower() not in _CLASSIC,
        only_offsets=not group.protocol_type,
    )


def described_status(group: DescribedGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return a group as its coordinator describes it, without its offsets."""
    if group.error_code:
        return _undescribed(group.group_id, group.error_code, coordinator, seen_ms)
    foreign = _foreign(group.protocol_type)
    owners: dict[TopicPartition, str] = {}
    members: list[MemberStatus] = []
    for one in sorted(group.members, key=lambda member: member.member_id):
        member, owned = _member(one, group.protocol, is_consumer=not foreign)
        members.append(member)
        owners |= dict.fromkeys(owned, member.member_id)
    return GroupStatus(
        group_id=group.group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        members=tuple(members),
        partitions=tuple(GroupPartition(tp, owners[tp]) for tp in sorted(owners)),
        reported_state=group.state,
        protocol=group.protocol or None,
        coordinator=coordinator,
        problems=foreign,
        only_offsets=not group.protocol_type,
    )


def reconciled_status(group: ReconciledGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return a group whose coordinator shares out, as that describes it, without its offsets.

    Who owns what is what members have now, which may be less than they shall have.
    """
    if group.error_code:
        return _undescribed(group.group_id, group.error_code, coordinator, seen_ms)
    owners: dict[TopicPartition, str] = {}
    members: list[MemberStatus] = []
    for one in sorted(group.members, key=lambda member: member.member_id):
        owned = [
            TopicPartition(of_topic.topic_name, number)
            for of_topic in one.assignment.topic_partitions
            for number in of_topic.partitions
        ]
        owners |= dict.fromkeys(owned, one.member_id)
        # A regular expression is the coordinator's to read: what it gave by it is what is known.
        topics = {*one.subscribed_topic_names, *(tp.topic for tp in owned)}
        members.append(
            MemberStatus(
                member_id=one.member_id,
                host=one.client_host.removeprefix("/") or None,
                client_id=one.client_id,
                streams=dict.fromkeys(sorted(topics), 1),
                instance_id=one.instance_id,
                assignor=group.assignor_name or None,
            )
        )
    return GroupStatus(
        group_id=group.group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        members=tuple(members),
        partitions=tuple(GroupPartition(tp, owners[tp]) for tp in sorted(owners)),
        reported_state=group.state,
        protocol=group.assignor_name or None,
        coordinator=coordinator,
    )


def _undescribed(group_id: str, code: int, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return a group that its coordinator knows, and does not describe."""
    return GroupStatus(
        group_id=group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        coordinator=coordinator,
        problems=(f"{coordinator} does not describe it: {explained(code)}",),
        whole=False,
    )


def read_committed(read: Positions, seen_ms: int) -> dict[TopicPartition, CommittedOffset | str]:
    """What is stored for each partition, or why that is not known; nothing where nothing is."""
    found: dict[TopicPartition, CommittedOffset | str] = {
        tp: f"its offset in Kafka: {read.reason(tp)}" for tp in read.codes
    }
    for tp, it in read.found.items():
        if it is not None:
            found[tp] = CommittedOffset(it.offset, "kafka", seen_ms, it.metadata)
    return found


def read_partitions(group: GroupStatus, topics: Mapping[str, Sequence[int]]) -> set[TopicPartition]:
    """Return the partitions that a group's members read, own, or that have an offset."""
    read = {topic for member in group.members for topic in member.streams}
    return {
        *(TopicPartition(topic, number) for topic in read for number in topics.get(topic, ())),
        *(one.topic_partition for one in group.partitions),
    }


def _unlike(group: ListedGroup) -> tuple[str, ...]:
    """Return what is said of a group that is known by the list alone."""
    if group.type.lower() in _CLASSIC:
        return _foreign(group.protocol_type)
    return (
        f"it is a group of the type {group.type!r} of Kafka 4: who is in it, and what each has, "
        "is not read",
    )


def _foreign(protocol_type: str) -> tuple[str, ...]:
    if protocol_type in {CONSUMER_PROTOCOL, ""}:
        return ()
    return (f"its members are no consumers, but speak {protocol_type!r} with each other",)


def _member(
    member: DescribedMember, protocol: str, *, is_consumer: bool
) -> tuple[MemberStatus, Sequence[TopicPartition]]:
    topics: tuple[str, ...] = ()
    owned: list[TopicPartition] = []
    problem: str | None = None
    if is_consumer:
        try:
            # Where the group is not stable the coordinator keeps both to itself.
            if member.metadata:
                topics = decode_subscription(member.metadata)[1].topics
            owned = [
                TopicPartition(of_topic.topic, number)
                for of_topic in decode_assignment(member.assignment)[1].assigned_partitions
                for number in of_topic.partitions
            ]
        except DecodeError as error:
            problem = f"what it told the group can't be read: {error}"
    status = MemberStatus(
        member_id=member.member_id,
        host=member.client_host.removeprefix("/") or None,
        client_id=member.client_id,
        streams=dict.fromkeys(topics, 1),
        instance_id=member.group_instance_id,
        assignor=protocol or None,
        problem=problem,
    )
    return status, owned
