"""Converts coordinators' responses about groups and offsets to statuses. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

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
from zkconsumer.status.reading.values import OffsetRead, UnreadOffset
from zkconsumer.wire.consumer_protocol import decode_assignment, decode_subscription
from zkconsumer.wire.messages.group_admin import DescribedGroup, DescribedMember, ReconciledGroup
from zkconsumer.wire.messages.list_groups import ListedGroup

CONSUMER_PROTOCOL: Final = "consumer"
"""The protocol type of groups of consumers; that of a group that only stores offsets is ""."""

_CLASSIC: Final = frozenset({"", "classic"})
"""The group types that DescribeGroups describes, as ListGroups names them; "" before 3.8."""

DEAD: Final = "Dead"
"""The state of a group that its coordinator does not know."""

_Member: TypeAlias = tuple[MemberStatus, Sequence[TopicPartition]]
"""A member and its partitions."""


def is_described(group: ListedGroup) -> bool:
    """Return whether DescribeGroups has details of a listed group.

    For a group with server-side assignment (KIP-848), DescribeGroups reports ``Dead``.
    """
    return group.protocol_type == CONSUMER_PROTOCOL and group.type.lower() in _CLASSIC


def is_reconciled(group: ListedGroup) -> bool:
    """Return whether ConsumerGroupDescribe describes a group: its coordinator assigns (KIP-848)."""
    return group.type.lower() == CONSUMER_PROTOCOL


def listed_status(group: ListedGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return the status of a group that is only listed."""
    is_classic = group.type.lower() in _CLASSIC
    unread = f"it is a group of type {group.type!r} of Kafka 4: its members and their partitions"
    return GroupStatus(
        group_id=group.group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        reported_state=group.state or None,
        coordinator=coordinator,
        problems=_foreign(group.protocol_type) if is_classic else (f"{unread} are not read",),
        is_complete=is_classic,
        only_listed=not is_classic,
        only_offsets=not group.protocol_type,
    )


def described_status(group: DescribedGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return the status of a described group, without its offsets."""
    if group.error_code:
        return _undescribed(group.group_id, group.error_code, coordinator, seen_ms)
    foreign = _foreign(group.protocol_type)
    members = [_member(member, group.protocol, is_consumer=not foreign) for member in group.members]
    return replace(
        _with_members(group.group_id, members, coordinator, seen_ms),
        reported_state=group.state,
        protocol=group.protocol or None,
        problems=foreign,
        only_offsets=not group.protocol_type,
    )


def reconciled_status(group: ReconciledGroup, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return the status of a group with server-side assignment, without its offsets.

    Its owners are the members' current assignments, which may be less than the target.
    """
    if group.error_code:
        return _undescribed(group.group_id, group.error_code, coordinator, seen_ms)
    assignor = group.assignor_name or None
    members: list[_Member] = []
    for member in group.members:
        owned = [
            TopicPartition(of_topic.topic_name, number)
            for of_topic in member.assignment.topic_partitions
            for number in of_topic.partitions
        ]
        # The coordinator matches a regex: the assignment is all that is known of its topics.
        topics = {*member.subscribed_topic_names, *(tp.topic for tp in owned)}
        status = MemberStatus(
            member_id=member.member_id,
            host=member.client_host.removeprefix("/") or None,
            client_id=member.client_id,
            streams=dict.fromkeys(sorted(topics), 1),
            instance_id=member.instance_id,
            assignor=assignor,
        )
        members.append((status, owned))
    return replace(
        _with_members(group.group_id, members, coordinator, seen_ms),
        reported_state=group.state,
        protocol=assignor,
    )


def _with_members(
    group_id: str, members: list[_Member], coordinator: Broker, seen_ms: int
) -> GroupStatus:
    members.sort(key=lambda member: member[0].member_id)
    owners = {tp: member.member_id for member, owned in members for tp in owned}
    return GroupStatus(
        group_id=group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        members=tuple(member for member, _ in members),
        partitions=tuple(GroupPartition(tp, owners[tp]) for tp in sorted(owners)),
        coordinator=coordinator,
    )


def _undescribed(group_id: str, code: int, coordinator: Broker, seen_ms: int) -> GroupStatus:
    """Return the status of a group that its coordinator knows, but does not describe."""
    return GroupStatus(
        group_id=group_id,
        kind=GroupKind.COORDINATOR,
        seen_ms=seen_ms,
        coordinator=coordinator,
        problems=(f"{coordinator} does not describe it: {explained(code)}",),
        is_complete=False,
    )


def read_committed(read: Positions, seen_ms: int) -> dict[TopicPartition, OffsetRead]:
    """Return the stored offset of each partition that has one, or why it is unknown."""
    found: dict[TopicPartition, OffsetRead] = {}
    for tp in read.codes:
        problem = f"its offset in Kafka: {read.reason(tp)}"
        found[tp] = problem if tp in read.absurd else UnreadOffset(problem)
    for tp, offset in read.found.items():
        if offset is not None:
            found[tp] = CommittedOffset(offset.offset, "kafka", seen_ms)
    return found


def read_partitions(group: GroupStatus, topics: Mapping[str, Sequence[int]]) -> set[TopicPartition]:
    """Return the partitions that a group's members read or own, or that have an offset."""
    subscribed = (
        TopicPartition(topic, number)
        for topic in group.topics_read
        for number in topics.get(topic, ())
    )
    return {*subscribed, *group.by_partition}


def _foreign(protocol_type: str) -> tuple[str, ...]:
    if protocol_type in {CONSUMER_PROTOCOL, ""}:
        return ()
    return (f"its members are not consumers, but use the protocol type {protocol_type!r}",)


def _member(member: DescribedMember, protocol: str, *, is_consumer: bool) -> _Member:
    topics: tuple[str, ...] = ()
    owned: list[TopicPartition] = []
    problem: str | None = None
    if is_consumer:
        try:
            # Unless the group is stable the coordinator omits both.
            if member.metadata:
                topics = decode_subscription(member.metadata)[1].topics
            owned = [
                TopicPartition(of_topic.topic, number)
                for of_topic in decode_assignment(member.assignment)[1].assigned_partitions
                for number in of_topic.partitions
            ]
        except DecodeError as error:
            problem = f"its subscription or assignment can't be parsed: {error}"
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
