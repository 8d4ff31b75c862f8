"""Plans the assignment for other numbers of members and streams. Pure.

Ids of new members are invented, and the ids decide which member gets which partitions, and the
larger share if partitions don't divide evenly. So real members may get other partitions, but the
sizes of the shares are the same (if all members read the same topics).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count, islice
from typing import Final

from zkconsumer.assignment.coordinated import sticky
from zkconsumer.assignment.coordinated.assignors import ASSIGNORS
from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, Strategy
from zkconsumer.assignment.threads import union
from zkconsumer.model import TopicPartition, utf16_key
from zkconsumer.status.model import GroupKind, GroupStatus
from zkconsumer.status.verify import PartitionIds, expected_owners

_MOST_THREADS: Final = 100_000
"""One line is shown for each thread, so this limits the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The intended size of a group.

    Attributes:
        members: the number of members, at least 1. If it is lower than now, the last by id leave;
            if it is higher, new members copy the first member's subscription.
        streams: the streams of each member for each topic, at least 1 (ZooKeeper); None: unchanged,
            and 1 without members.
        topics: the topics that all members read; None: unchanged, and without members the topics
            with committed offsets.
    """

    members: int
    streams: int | None = None
    topics: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.members < 1 or (self.streams is not None and self.streams < 1):
            raise ValueError(f"no group: {self}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePlan:
    """The assignment after scaling.

    Attributes:
        readers: the partitions of every reader, ascending: a thread of a ZooKeeper group, a member
            of a coordinator's group; empty for those that get none.
        before: the current assignment, likewise.
        invented: new readers, under invented ids.
        leaving: members that would leave.
        unread: partitions of the group's topics that no member would read.
    """

    readers: Mapping[str, tuple[TopicPartition, ...]]
    before: Mapping[str, tuple[TopicPartition, ...]]
    invented: frozenset[str] = frozenset()
    leaving: tuple[str, ...] = ()
    unread: tuple[TopicPartition, ...] = ()

    @property
    def idle(self) -> tuple[str, ...]:
        """The readers without partitions."""
        return tuple(reader for reader, share in self.readers.items() if not share)

    @property
    def moved(self) -> tuple[TopicPartition, ...]:
        """The owned partitions that change owners, ascending."""
        now = {tp: reader for reader, share in self.before.items() for tp in share}
        then = {tp: reader for reader, share in self.readers.items() for tp in share}
        return tuple(sorted(tp for tp, reader in now.items() if then.get(tp) != reader))


def plan_scaling(
    group: GroupStatus, partition_ids: PartitionIds, scale: Scale, strategy: str
) -> SharePlan | CannotAssign:
    """Compute the group's assignment after scaling.

    Args:
        group: of either kind.
        partition_ids: of all topics of the cluster.
        scale: the intended size.
        strategy: ``range`` or ``roundrobin`` for ZooKeeper; the assignor's name for a coordinator.
    """
    members = _scaled_members(group, scale)
    topics = {topic for read in members.values() for topic in read}
    missing = sorted(topic for topic in topics if not partition_ids.get(topic))
    if not topics or missing:
        return CannotAssign(
            f"the cluster has no partitions of {', '.join(missing)}"
            if topics
            else "the group has neither members nor offsets: name the topics that it is to read"
        )
    partitions = {topic: tuple(partition_ids[topic]) for topic in topics}
    shares = (
        _coordinated_shares(strategy, group, members, partitions)
        if group.kind is GroupKind.COORDINATOR
        else _zookeeper_shares(strategy, members, partitions)
    )
    if isinstance(shares, CannotAssign):
        return shares
    known = {member.member_id for member in group.members}
    read = {tp for share in shares.values() for tp in share}
    wanted = {TopicPartition(topic, number) for topic, of in partitions.items() for number in of}
    return SharePlan(
        readers=shares,
        before=_before(group),
        invented=frozenset(
            reader for reader in shares if _member_of(reader, group.kind) not in known
        ),
        leaving=tuple(sorted(known - members.keys(), key=utf16_key)),
        unread=tuple(sorted(wanted - read)),
    )


def _scaled_members(group: GroupStatus, scale: Scale) -> dict[str, dict[str, int]]:
    """Return the subscription of each member, with its number of streams."""
    present = sorted(group.members, key=lambda member: utf16_key(member.member_id))
    members = {member.member_id: dict(member.streams) for member in present[: scale.members]}
    model = next(iter(members.values()), None)
    if model is None:
        model = dict.fromkeys(
            (partition.topic_partition.topic for partition in group.partitions), 1
        )
    prefix = "" if group.kind is GroupKind.COORDINATOR else f"{group.group_id}_"
    taken = {member.member_id for member in present}
    names = (f"{prefix}new-{number:03}" for number in count(1))
    missing = max(0, scale.members - len(members))
    for name in islice((name for name in names if name not in taken), missing):
        members[name] = dict(model)
    if scale.topics is not None:
        streams = max([*model.values(), 1])
        members = {name: dict.fromkeys(scale.topics, streams) for name in members}
    if scale.streams is not None:
        members = {name: dict.fromkeys(read, scale.streams) for name, read in members.items()}
    return members


def _zookeeper_shares(
    strategy: str, members: Mapping[str, Mapping[str, int]], partitions: PartitionIds
) -> dict[str, tuple[TopicPartition, ...]] | CannotAssign:
    known: Mapping[str, Strategy] = {"range": "range", "roundrobin": "roundrobin"}
    if strategy not in known:
        return CannotAssign(f"{strategy} is not a strategy of ZooKeeper groups: {', '.join(known)}")
    view = GroupView(members, partitions)
    owners = expected_owners(known[strategy], view)
    if isinstance(owners, CannotAssign):
        return owners
    threads = union(view.threads_by_topic().values())
    if threads.count > _MOST_THREADS:
        return CannotAssign(
            f"{threads.count} streams are too many to plan; a member registers up to "
            f"{max(max(member.values(), default=0) for member in view.members.values())}: "
            "give their number"
        )
    shares: dict[str, list[TopicPartition]] = {str(thread): [] for thread in threads}
    for tp, thread in sorted(owners.items()):
        shares[str(thread)].append(tp)
    return {reader: tuple(share) for reader, share in shares.items()}


def _coordinated_shares(
    strategy: str,
    group: GroupStatus,
    members: Mapping[str, Mapping[str, int]],
    partitions: PartitionIds,
) -> dict[str, tuple[TopicPartition, ...]] | CannotAssign:
    if strategy not in STRATEGIES:
        return CannotAssign(f"unknown assignor {strategy}: {', '.join(STRATEGIES)}")
    owned = _before(group)
    instances = {member.member_id: member.instance_id for member in group.members}
    view = CoordinatedView(
        {
            name: MemberView(
                topics=frozenset(read),
                owned=frozenset(owned.get(name, ())),
                instance_id=instances.get(name),
            )
            for name, read in members.items()
        },
        partitions,
    )
    # The cooperative assignor takes two rounds: the final assignment counts.
    assign = sticky.assign if STRATEGIES[strategy].cooperative else ASSIGNORS[strategy]
    shares = assign(view)
    return {reader: tuple(sorted(shares[reader])) for reader in sorted(shares, key=utf16_key)}


def _before(group: GroupStatus) -> dict[str, tuple[TopicPartition, ...]]:
    found: dict[str, list[TopicPartition]] = {}
    for partition in group.partitions:
        if partition.owner is not None:
            found.setdefault(partition.owner, []).append(partition.topic_partition)
    return {reader: tuple(sorted(found[reader])) for reader in sorted(found, key=utf16_key)}


def _member_of(reader: str, kind: GroupKind) -> str:
    return reader.rpartition("-")[0] if kind is GroupKind.ZOOKEEPER else reader
