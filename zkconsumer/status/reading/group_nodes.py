"""Converts the nodes of a ZooKeeper group to a status. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from zkconsumer.assignment.filtering import FilterBudget
from zkconsumer.assignment.filters import expand
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    CommittedOffset,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.reading.values import Read, Unreadable
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import Pattern, Registration, parse_offset, parse_owner, parse_registration
from zkconsumer.zk.store import ZNode

_PARTITION: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_SCALA_ID: Final = re.compile(r"(?P<host>.+)-[0-9]{10,19}-[0-9a-f]{1,8}")

ByName: TypeAlias = Mapping[str, Read[ZNode]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNodes:
    """All nodes of a group, as read.

    Attributes:
        members: by consumer id.
        owners: by topic and by the name of the node, which should be a partition number.
        offsets: likewise.
        problems: why nodes could not be listed.
        listed: whether all members and owners could be listed.
    """

    members: ByName
    owners: Mapping[str, ByName]
    offsets: Mapping[str, ByName]
    problems: tuple[str, ...] = ()
    listed: bool = True

    @property
    def unread(self) -> list[str]:
        """The reasons why listed members and owners could not be read."""
        owners = (node for by_name in self.owners.values() for node in by_name.values())
        nodes = (*self.members.values(), *owners)
        return [node.reason for node in nodes if isinstance(node, Unreadable)]


def group_status(
    group_id: str,
    nodes: GroupNodes,
    topics: Mapping[str, Sequence[int]],
    seen_ms: int,
    budget: FilterBudget,
    offsets_ms: int | None = None,
) -> GroupStatus:
    """Return the group's status, except its state, log ends and offsets in Kafka.

    Args:
        group_id: its id.
        nodes: its nodes.
        topics: the partitions of every topic, to expand subscriptions.
        seen_ms: when reading the nodes began; members and owners of that time are included.
        budget: limits the work of matching the members' filters.
        offsets_ms: when the offsets had been read: all were committed by then; None: ``seen_ms``.
    """
    read_ms = seen_ms if offsets_ms is None else offsets_ms
    members = tuple(
        _member(group_id, consumer_id, node, topics, budget)
        for consumer_id, node in sorted(nodes.members.items())
        if node is not None  # deleted between the list and the read
    )
    owners, strange_owners = _by_partition(nodes.owners, "owner")
    offsets, strange_offsets = _by_partition(nodes.offsets, "offset")
    unread = nodes.unread
    read = {topic for member in members for topic in member.streams}
    partitions = {
        *(TopicPartition(topic, number) for topic in read for number in topics.get(topic, ())),
        *owners,
        *offsets,
    }
    return GroupStatus(
        group_id=group_id,
        kind=GroupKind.ZOOKEEPER,
        seen_ms=seen_ms,
        members=members,
        partitions=tuple(
            _partition(tp, owners.get(tp), offsets.get(tp), read_ms) for tp in sorted(partitions)
        ),
        problems=(*nodes.problems, *_described(unread), *strange_owners, *strange_offsets),
        is_complete=nodes.listed and not unread,
    )


def host_of(group_id: str, consumer_id: str) -> str | None:
    """Return the host in a consumer id as the original makes them: ``group_host-time-random``."""
    match = _SCALA_ID.fullmatch(consumer_id.removeprefix(f"{group_id}_"))
    return match["host"] if match and consumer_id.startswith(f"{group_id}_") else None


def _member(
    group_id: str,
    consumer_id: str,
    node: ZNode | Unreadable,
    topics: Mapping[str, Sequence[int]],
    budget: FilterBudget,
) -> MemberStatus:
    host = host_of(group_id, consumer_id)
    if isinstance(node, Unreadable):
        return MemberStatus(member_id=consumer_id, host=host, problem=node.reason)
    registration = parse_registration(node.data)
    if isinstance(registration, Malformed):
        return MemberStatus(
            member_id=consumer_id,
            host=host,
            session_id=node.ephemeral_owner,
            created_ms=node.ctime_ms,
            data=node.data,
            problem=registration.reason,
        )
    streams, problem = _streams(registration, topics, budget)
    wildcard = registration.pattern is not Pattern.STATIC
    return MemberStatus(
        member_id=consumer_id,
        host=host,
        streams=streams,
        pattern=registration.pattern,
        regex=next(iter(registration.subscription)) if wildcard else None,
        session_id=node.ephemeral_owner,
        registered_ms=registration.timestamp_ms,
        created_ms=node.ctime_ms,
        data=node.data,
        problem=registration.scala_problem or problem,
    )


def _streams(
    registration: Registration, topics: Mapping[str, Sequence[int]], budget: FilterBudget
) -> tuple[Mapping[str, int], str | None]:
    """Return a member's streams without internal topics, and why they are unknown, if they are."""
    try:
        return expand(registration, topics, exclude_internal=True, budget=budget), None
    except ConfigError as error:
        return {}, str(error)


def _described(unread: Sequence[str]) -> list[str]:
    """Return one problem that summarizes unread nodes; each reason is also at its own place."""
    if not unread:
        return []
    more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
    return [f"not all members and owners were read: {unread[0]}{more}"]


def _by_partition(
    nodes: Mapping[str, ByName], what: str
) -> tuple[dict[TopicPartition, ZNode | Unreadable], list[str]]:
    found: dict[TopicPartition, ZNode | Unreadable] = {}
    strange: list[str] = []
    for topic, by_name in nodes.items():
        for name, node in by_name.items():
            if _PARTITION.fullmatch(name) is None:
                strange.append(f"{what} node {name!r} of topic {topic} is not a partition number")
            elif node is not None:
                found[TopicPartition(topic, int(name))] = node
    return found, strange


def _partition(
    tp: TopicPartition,
    owner: ZNode | Unreadable | None,
    offset: ZNode | Unreadable | None,
    seen_ms: int,
) -> GroupPartition:
    problems: list[str] = []
    committed: tuple[CommittedOffset, ...] = ()
    if isinstance(offset, Unreadable):
        problems.append(offset.reason)
    elif offset is not None:
        value = parse_offset(offset.data)
        if isinstance(value, Malformed):
            problems.append(f"its offset node: {value.reason}")
        elif value >= 0:  # tools leave -1 for no offset
            committed = (CommittedOffset(value, "zookeeper", seen_ms, offset.mtime_ms),)
    if isinstance(owner, Unreadable):
        problems.append(owner.reason)
    found = owner if isinstance(owner, ZNode) else None
    return GroupPartition(
        tp,
        None if found is None else parse_owner(found.data),
        None if found is None else found.ephemeral_owner,
        None if found is None else found.ctime_ms,
        committed,
        problem="; ".join(problems) or None,
    )
