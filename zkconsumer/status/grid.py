"""A group as a grid: a row for each partition, a column for each owner. Pure.

The grid shows faults, too: unowned partitions have no column, and owners that are not members have
columns of their own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import CommittedOffset, GroupKind, GroupPartition, GroupStatus
from zkconsumer.status.verify import OwnershipFault, Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerColumn:
    """The column of one owner.

    Attributes:
        owner_id: the member's id; the content of the owner node if that is no thread id.
        label: a short, unique name.
        is_member: whether it is registered.
        host: its host, if known.
        streams: its largest number of streams for a topic; 0 if it is no member.
        partitions: the number of its partitions.
        lag: the sum of their known lags.
        problem: of its registration.
    """

    owner_id: str
    label: str
    is_member: bool
    host: str | None
    streams: int
    partitions: int
    lag: int
    problem: str | None

    @property
    def idle(self) -> bool:
        """Whether it owns no partition."""
        return not self.partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """The row of one partition.

    Attributes:
        topic_partition: the partition.
        column: the index of its owner's column; None if unowned.
        owner: the thread id or member id of its owner.
        thread: the number of its stream (ZooKeeper).
        fault: of its ownership.
        committed: the committed offset.
        lag: in records; None if unknown.
        problem: of its nodes.
    """

    topic_partition: TopicPartition
    column: int | None
    owner: str | None
    thread: int | None
    fault: OwnershipFault | None
    committed: CommittedOffset | None
    lag: int | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A group as rows and columns.

    Attributes:
        columns: members by id, then owners that are no members.
        rows: ascending by partition.
    """

    columns: tuple[OwnerColumn, ...]
    rows: tuple[PartitionRow, ...]


def grid_of(group: GroupStatus, verification: Verification) -> Grid:
    """Return a group as a grid.

    Args:
        group: of either kind.
        verification: of this group; partitions that it finds unowned get rows, too.
    """
    faults = {fault.topic_partition: fault.fault for fault in verification.faults}
    known = group.by_partition
    shown = [known.get(tp) or GroupPartition(tp) for tp in sorted({*known, *faults})]
    member_ids = [member.member_id for member in group.members]
    strangers = {
        owner_id
        for partition in shown
        if partition.owner is not None
        and (owner_id := _owner_of(group.kind, partition.owner)[0]) not in member_ids
    }
    owner_ids = [*member_ids, *sorted(strangers)]
    index = {owner_id: number for number, owner_id in enumerate(owner_ids)}
    rows = tuple(
        _row(group.kind, partition, index, faults.get(partition.topic_partition))
        for partition in shown
    )
    return Grid(columns=_columns(group, owner_ids, rows), rows=rows)


def short_labels(group_id: str, names: Iterable[str]) -> dict[str, str]:
    """Return a short, unique label for each name.

    The group's id is dropped, as are the leading parts that all names share, such as a single host.
    """
    listed = list(dict.fromkeys(names))
    bare = {name: name.removeprefix(f"{group_id}_") or name for name in listed}
    if len(set(bare.values())) < len(listed):
        bare = {name: name for name in listed}
    cut = _shared_parts(list(bare.values())) if len(listed) > 1 else 0
    labels = {name: text[cut:] or text for name, text in bare.items()}
    return labels if len(set(labels.values())) == len(listed) else bare


def _shared_parts(texts: list[str]) -> int:
    """Return the length of the common beginning, up to the end of a part of the id."""
    first, last = min(texts), max(texts)  # all texts between these share their prefix
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    shared = "".join(char for char, _ in alike)
    return max(shared.rfind(mark) for mark in "-_.") + 1


def _row(
    kind: GroupKind, partition: GroupPartition, index: dict[str, int], fault: OwnershipFault | None
) -> PartitionRow:
    owner_id, thread = (None, None) if partition.owner is None else _owner_of(kind, partition.owner)
    return PartitionRow(
        topic_partition=partition.topic_partition,
        column=None if owner_id is None else index[owner_id],
        owner=partition.owner,
        thread=thread,
        fault=fault,
        committed=partition.effective(kind),
        lag=records_behind(kind, partition),
        problem=partition.problem,
    )


def _columns(
    group: GroupStatus, owner_ids: list[str], rows: tuple[PartitionRow, ...]
) -> tuple[OwnerColumn, ...]:
    members = group.members_by_id
    labels = short_labels(group.group_id, owner_ids)
    counts, lags = [0] * len(owner_ids), [0] * len(owner_ids)
    for row in rows:
        if row.column is not None:
            counts[row.column] += 1
            lags[row.column] += row.lag or 0
    columns = []
    for number, owner_id in enumerate(owner_ids):
        member = members.get(owner_id)
        columns.append(
            OwnerColumn(
                owner_id=owner_id,
                label=labels[owner_id],
                is_member=member is not None,
                host=None if member is None else member.host,
                streams=0 if member is None else max(member.streams.values(), default=0),
                partitions=counts[number],
                lag=lags[number],
                problem=None if member is None else member.problem,
            )
        )
    return tuple(columns)


def _owner_of(kind: GroupKind, owner: str) -> tuple[str, int | None]:
    """Return the id of the owner, and the number of its stream in a ZooKeeper group."""
    thread = ConsumerThreadId.parse(owner) if kind is GroupKind.ZOOKEEPER else None
    return (owner, None) if thread is None else (thread.consumer_id, thread.thread)
