"""Infers why a group rebalances from the differences of two snapshots. Pure."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from zkconsumer.status.model import GroupKind, GroupStatus, MemberStatus
from zkconsumer.status.verify import PartitionIds


class ObservedGroup(NamedTuple):
    """A group, and the partitions of all topics, as read together."""

    group: GroupStatus
    partition_ids: PartitionIds


class RebalanceReason(StrEnum):
    """Why a group rebalances; the values are what users read, about a member or a topic."""

    JOINED = "member {} joined"
    LEFT = "member {} left"
    RESTARTED = "member {} was restarted"
    NEW_SESSION = "member {} lost its session and came back"
    SUBSCRIPTION = "member {} reads other topics, or with other numbers of streams"
    BROKEN_REGISTRATION = "the registration of member {} can't be used"
    TOPIC_CREATED = "topic {} was created"
    TOPIC_GREW = "topic {} got more partitions"
    TOPIC_GONE = "topic {} was deleted"
    COORDINATOR_MOVED = "the coordinator is now {}"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a rebalance.

    Attributes:
        cause: its kind.
        what: the member, topic or broker.
        before: the former id of a restarted member.
    """

    cause: RebalanceReason
    what: str
    before: str | None = None

    def __str__(self) -> str:
        message = self.cause.value.format(self.what)
        return message if self.before is None else f"{message} (was {self.before})"


def reasons_between(before: ObservedGroup, after: ObservedGroup) -> tuple[Reason, ...]:
    """Return every change that makes members rebalance; owners are not considered."""
    return (
        *_comings_and_goings(before.group, after.group),
        *_changes_of_members(before, after),
        *_topic_reasons(before, after),
        *_coordinator_reasons(before.group, after.group),
    )


def _comings_and_goings(before: GroupStatus, after: GroupStatus) -> Iterator[Reason]:
    was, now = before.members_by_id, after.members_by_id
    joined = [member for member_id, member in now.items() if member_id not in was]
    left = [member for member_id, member in was.items() if member_id not in now]
    for member in joined:
        earlier = next((candidate for candidate in left if _is_same_range(candidate, member)), None)
        if earlier is None:
            yield Reason(RebalanceReason.JOINED, member.member_id)
        else:
            left.remove(earlier)
            yield Reason(RebalanceReason.RESTARTED, member.member_id, earlier.member_id)
    for member in left:
        yield Reason(RebalanceReason.LEFT, member.member_id)


def _changes_of_members(before: ObservedGroup, after: ObservedGroup) -> Iterator[Reason]:
    was = before.group.members_by_id
    # A wildcard may match a new topic: that does not change the member's subscription.
    lasting = before.partition_ids.keys() & after.partition_ids.keys()
    for member in after.group.members:
        old = was.get(member.member_id)
        if member.problem is not None and (old is None or old.problem is None):
            yield Reason(RebalanceReason.BROKEN_REGISTRATION, member.member_id)
        if old is None:
            continue
        sessions = {old.session_id, member.session_id}
        if None not in sessions and len(sessions) > 1:
            yield Reason(RebalanceReason.NEW_SESSION, member.member_id)
        if _read_of(old, lasting) != _read_of(member, lasting):
            yield Reason(RebalanceReason.SUBSCRIPTION, member.member_id)


def _read_of(member: MemberStatus, topics: Set[str]) -> dict[str, int]:
    return {topic: count for topic, count in member.streams.items() if topic in topics}


def _is_same_range(member: MemberStatus, other: MemberStatus) -> bool:
    """Return whether the second member can be the first, restarted."""
    if member.instance_id is not None or other.instance_id is not None:
        return member.instance_id == other.instance_id
    return member.host is not None and (member.host, member.client_id) == (
        other.host,
        other.client_id,
    )


def _topic_reasons(before: ObservedGroup, after: ObservedGroup) -> Iterator[Reason]:
    if not before.partition_ids or not after.partition_ids:
        return  # topics were not read yet; they don't appear all at once
    for topic in sorted(before.group.topics_read | after.group.topics_read):
        was, now = before.partition_ids.get(topic), after.partition_ids.get(topic)
        if was is None and now is not None:
            yield Reason(RebalanceReason.TOPIC_CREATED, topic)
        elif was is not None and now is None:
            yield Reason(RebalanceReason.TOPIC_GONE, topic)
        elif was is not None and now is not None and set(now) - set(was):
            yield Reason(RebalanceReason.TOPIC_GREW, topic)


def _coordinator_reasons(before: GroupStatus, after: GroupStatus) -> Iterator[Reason]:
    if after.kind is GroupKind.ZOOKEEPER:
        return  # its coordinator only stores offsets: there is no rebalance
    was, now = before.coordinator, after.coordinator
    if was is not None and now is not None and was.id != now.id:
        yield Reason(RebalanceReason.COORDINATOR_MOVED, str(now))
