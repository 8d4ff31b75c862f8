"""Formats lists and descriptions of groups. Pure."""

from collections.abc import Iterable
from dataclasses import asdict

from zkconsumer.cli.tables import Cell, Colour, Painted, instant, sentence, table
from zkconsumer.model import ConsumerThreadId
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupState,
    GroupStatus,
    MemberStatus,
)
from zkconsumer.status.verify import verify

_LIST = ("GROUP", "KIND", "STATE", ">MEMBERS", ">PARTITIONS", ">LAG", "TOPICS")
_MEMBERS = ("MEMBER", "HOST", "READS", ">PARTITIONS", ">LAG", "NOTE")
_PARTITIONS = ("TOPIC", ">PARTITION", ">OFFSET", "IN", ">LOG END", ">LAG", "OWNER", "NOTE")
_STATES = {
    GroupState.STABLE: Colour.GOOD,
    GroupState.REBALANCING: Colour.WARN,
    GroupState.UNKNOWN: Colour.WARN,
    GroupState.EMPTY: Colour.DIM,
    GroupState.DEAD: Colour.DIM,
    GroupState.ABANDONED: Colour.DIM,
}
_TOPICS_NAMED = 4


def total_lag(group: GroupStatus) -> int | None:
    """Return the sum of a group's known lags; None if there is none."""
    known = [
        lag
        for partition in group.partitions
        if (lag := records_behind(group.kind, partition)) is not None
    ]
    return sum(known) if known else None


def lag_text(group: GroupStatus, partitions: Iterable[GroupPartition] | None = None) -> str | None:
    """Return the sum of a group's lags; ``12+`` if some are unknown despite offsets.

    Args:
        group: the group.
        partitions: the partitions to sum up.
    """
    known, unknown = [], False
    for partition in group.partitions if partitions is None else partitions:
        lag = records_behind(group.kind, partition)
        if lag is not None:
            known.append(lag)
        elif partition.problem is not None or partition.effective(group.kind) is not None:
            unknown = True
    return f"{sum(known)}{'+' if unknown else ''}" if known else None


def state_cell(group: GroupStatus) -> Painted:
    """Return the cell with a group's state, coloured."""
    return Painted(group.state, _STATES[group.state])


def list_table(groups: Iterable[GroupStatus]) -> str:
    """Return a table with a line for each group."""
    rows: list[list[Cell]] = [
        [
            group.group_id,
            group.kind,
            state_cell(group),
            len(group.members),
            len(group.partitions),
            lag_text(group),
            _topics_text(group),
        ]
        for group in groups
    ]
    return table(_LIST, rows)


def _topics(group: GroupStatus) -> list[str]:
    return sorted({partition.topic_partition.topic for partition in group.partitions})


def _topics_text(group: GroupStatus) -> str:
    names = _topics(group)
    more = len(names) - _TOPICS_NAMED
    return ",".join(names[:_TOPICS_NAMED]) + (f",... ({more} more)" if more > 0 else "")


def description(group: GroupStatus, snapshot: ClusterSnapshot) -> str:
    """Return the description of a group: its state, members and partitions."""
    lines = [
        f"{group.kind} group {printable(group.group_id)}: {group.state}, "
        f"{counted(len(group.members), 'member')}, "
        f"{counted(len(group.partitions), 'partition')}, "
        f"lag {lag_text(group) or '-'}"
    ]
    if group.protocol:
        lines.append(f"assignor: {printable(group.protocol)}")
    if group.coordinator is not None:
        lines.append(f"coordinator: {group.coordinator}")
    lines += [f"problem: {printable(problem)}" for problem in group.problems]
    text = "".join(map(sentence, lines))
    if group.members:
        text += "\n" + _members_table(group)
    if group.partitions:
        text += "\n" + _partitions_table(group, snapshot)
    return text


def _owner_of(group: GroupStatus, partition: GroupPartition) -> str | None:
    """Return the id of the member that owns a partition; in ZooKeeper owners are its threads."""
    if partition.owner is None or group.kind is GroupKind.COORDINATOR:
        return partition.owner
    thread = ConsumerThreadId.parse(partition.owner)
    return None if thread is None else thread.consumer_id


def _members_table(group: GroupStatus) -> str:
    owned: dict[str | None, list[GroupPartition]] = {}
    for partition in group.partitions:
        owned.setdefault(_owner_of(group, partition), []).append(partition)
    rows: list[list[Cell]] = []
    for member in group.members:
        parts = owned.get(member.member_id, [])
        rows.append(
            [
                member.member_id,
                member.host,
                reads_text(member),
                len(parts),
                lag_text(group, parts),
                Painted(member.problem or "", Colour.BAD),
            ]
        )
    return table(_MEMBERS, rows)


def reads_text(member: MemberStatus) -> str | None:
    """Return the topics of a member, such as ``orders:2`` for two streams; or its wildcard."""
    if member.regex is not None:
        return f"{member.pattern}: {member.regex}"
    return " ".join(f"{topic}:{count}" for topic, count in member.streams.items()) or None


def _partitions_table(group: GroupStatus, snapshot: ClusterSnapshot) -> str:
    found = verify(group, snapshot.partition_ids(), snapshot.live_sessions)
    faults = {fault.topic_partition: fault.fault for fault in found.faults} if group.members else {}
    rows: list[list[Cell]] = []
    for partition in group.partitions:
        committed = partition.effective(group.kind)
        fault = faults.get(partition.topic_partition)
        rows.append(
            [
                *partition.topic_partition,
                None if committed is None else committed.offset,
                None if committed is None else committed.storage,
                partition.log_end,
                records_behind(group.kind, partition),
                partition.owner,
                Painted(partition.problem or (fault.value if fault else ""), Colour.BAD),
            ]
        )
    return table(_PARTITIONS, rows)


def list_json(groups: Iterable[GroupStatus], snapshot: ClusterSnapshot) -> dict[str, object]:
    """Return the groups as a JSON object."""
    return {
        "zookeeper": snapshot.zookeeper,
        "groups": [
            {
                "group": group.group_id,
                "kind": group.kind,
                "state": group.state,
                "members": len(group.members),
                "partitions": len(group.partitions),
                "total_lag": total_lag(group),
                "topics": _topics(group),
            }
            for group in groups
        ],
    }


def group_json(group: GroupStatus) -> dict[str, object]:
    """Return all data of a group."""
    coordinator = group.coordinator
    return {
        "group": group.group_id,
        "kind": group.kind,
        "state": group.state,
        "reported_state": group.reported_state,
        "protocol": group.protocol,
        "coordinator": None if coordinator is None else asdict(coordinator),
        "seen_at": instant(group.seen_ms),
        "total_lag": total_lag(group),
        "problems": list(group.problems),
        "members": [_member_json(member) for member in group.members],
        "partitions": [_partition_json(group, partition) for partition in group.partitions],
    }


def _member_json(member: MemberStatus) -> dict[str, object]:
    return {
        "member": member.member_id,
        "host": member.host,
        "client_id": member.client_id,
        "instance_id": member.instance_id,
        "streams": dict(member.streams),
        "regex": member.regex,
        "session": member.session_id,
        "registered_at": instant(member.registered_ms),
        "assignor": member.assignor,
        "problem": member.problem,
    }


def _partition_json(group: GroupStatus, partition: GroupPartition) -> dict[str, object]:
    committed = partition.effective(group.kind)
    return {
        **partition.topic_partition._asdict(),
        "owner": partition.owner,
        "owner_session": partition.owner_session,
        "offset": None if committed is None else committed.offset,
        "storage": None if committed is None else committed.storage,
        "offsets": {committed.storage: committed.offset for committed in partition.committed},
        "log_start": partition.log_start,
        "log_end": partition.log_end,
        "lag": records_behind(group.kind, partition),
        "problem": partition.problem,
    }
