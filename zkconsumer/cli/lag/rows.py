"""The rows of a lag report, by partition. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from zkconsumer.cli.tables import Cell, Colour, Painted, instant, sentence, table
from zkconsumer.model import TopicPartition
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.doctor.sightings import SightingsByGroup, is_beyond
from zkconsumer.status.lag import OffsetPlacement, TimeLag, placement_of, records_behind
from zkconsumer.status.model import (
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupPartition,
    GroupStatus,
)

_COLUMNS = ("GROUP", "TOPIC", ">PARTITION", ">OFFSET", ">LOG END", ">LAG", ">SECONDS", "OWNER")
_ASTRAY = {
    OffsetPlacement.BEFORE_START: "before the start of its log: the records there were deleted",
    OffsetPlacement.BEYOND_END: "beyond the end of its log: was the topic created again?",
}
_NEVER_COMMITTED = "the group has no offset for it"


class LagRow(NamedTuple):
    """A partition of a group.

    Attributes:
        group: the group.
        partition: the group's view of the partition.
        committed: the committed offset.
        records: the lag in records.
        time: the lag in time.
        placement: the position of its offset in the log.
    """

    group: GroupStatus
    partition: GroupPartition
    committed: CommittedOffset | None
    records: int | None
    time: TimeLag | None
    placement: OffsetPlacement

    @property
    def key(self) -> tuple[GroupKey, TopicPartition]:
        """The row's identity."""
        return self.group.key, self.partition.topic_partition

    @property
    def unreadable(self) -> str | None:
        """Why the lag is unknown, if the group has an offset or may have one."""
        if self.records is not None:
            return None
        if self.committed is None and self.partition.problem is None:
            return None
        return self.partition.problem or "the log end is unknown"


def lag_rows(
    snapshot: ClusterSnapshot,
    groups: Iterable[GroupStatus],
    topics: Collection[str] | None,
    sightings: SightingsByGroup,
) -> list[LagRow]:
    """Return the rows of groups, without lags in time.

    Args:
        snapshot: the cluster.
        groups: the groups to include.
        topics: the topics to include with all of their partitions; None: all partitions of the
            groups.
        sightings: of offsets beyond log ends, in this snapshot and earlier ones.
    """
    rows = []
    for group in groups:
        seen = sightings.get(group.key, {})
        for partition in _partitions(snapshot, group, topics):
            records = records_behind(group.kind, partition)
            committed = partition.effective(group.kind)
            placement = placement_of(group.kind, partition)
            if committed is not None and is_beyond(
                partition, committed, seen.get(partition.topic_partition, ())
            ):
                placement = OffsetPlacement.BEYOND_END
            rows.append(LagRow(group, partition, committed, records, None, placement))
    return rows


def _partitions(
    snapshot: ClusterSnapshot, group: GroupStatus, topics: Collection[str] | None
) -> Sequence[GroupPartition]:
    if topics is None:
        return group.partitions
    found = {
        partition.topic_partition: partition
        for partition in group.partitions
        if partition.topic_partition.topic in topics
    }
    for topic in snapshot.topics:
        if topic.name in topics:
            for partition in topic.partitions:
                tp = partition.topic_partition
                empty = GroupPartition(
                    tp,
                    log_start=partition.log_start,
                    log_end=partition.log_end,
                    log_at_ms=partition.offsets_at_ms,
                )
                found.setdefault(tp, empty)
    return [found[tp] for tp in sorted(found)]


def lag_table(rows: Sequence[LagRow]) -> str:
    """Return a table of the original checker's columns and seconds; then totals, and notes."""
    cells = [
        [
            row.group.group_id,
            row.partition.topic_partition.topic,
            row.partition.topic_partition.partition,
            None if row.committed is None else row.committed.offset,
            row.partition.log_end,
            _lag_cell(row),
            seconds_text(row.time),
            _owner_cell(row),
        ]
        for row in rows
    ]
    parts = [table(_COLUMNS, cells), *_totals(rows), *_notes(rows)]
    return "".join(parts)


def _totals(rows: Iterable[LagRow]) -> Iterator[str]:
    """Yield a line for each group with several partitions."""
    for of_group in _by_group(rows).values():
        if len(of_group) < 2:
            continue
        known = [row.records for row in of_group if row.records is not None]
        times = [row.time for row in of_group if row.time is not None]
        oldest = seconds_text(max(times, key=lambda time: time.ms)) if times else None
        unowned = sum(row.partition.owner is None for row in of_group)
        behind = f"{sum(known)} behind" if known else "lag unknown"
        parts = [
            f"{behind} in {counted(len(of_group), 'partition')}"
            + (f", up to {oldest} s" if oldest and any(known) else ""),
            *([f"{len(of_group) - len(known)} unknown"] if 0 < len(known) < len(of_group) else []),
            *([f"nobody owns {unowned}"] if unowned and of_group[0].group.is_complete else []),
        ]
        yield sentence(printable(f"{of_group[0].group.key}: {'; '.join(parts)}"))


def _by_group(rows: Iterable[LagRow]) -> dict[GroupKey, list[LagRow]]:
    by_group: dict[GroupKey, list[LagRow]] = {}
    for row in rows:
        by_group.setdefault(row.group.key, []).append(row)
    return by_group


def _owner_cell(row: LagRow) -> Cell:
    """Return the cell of the owner, coloured if there certainly is none."""
    if row.partition.owner is None and row.group.is_complete:
        return Painted("nobody", Colour.BAD)
    return row.partition.owner


def _notes(rows: Iterable[LagRow]) -> Iterator[str]:
    """Yield notes about offsets outside of their logs, and about problems of partitions."""
    for row in rows:
        where = _ASTRAY.get(row.placement)
        if row.records is not None and row.partition.problem is not None:
            about = f"{row.partition.topic_partition} of {row.group.key}: {row.partition.problem}"
            yield sentence(printable(about))
        if where is not None and row.committed is not None:
            tp, offset = row.partition.topic_partition, row.committed.offset
            yield sentence(printable(f"{tp} of {row.group.key}: offset {offset} is {where}"))


def _lag_cell(row: LagRow) -> Cell:
    if row.placement in {OffsetPlacement.BEFORE_START, OffsetPlacement.BEYOND_END}:
        return Painted(str(row.records), Colour.BAD)
    return row.records


def seconds_text(time: TimeLag | None) -> str | None:
    """Return seconds as ``12.3``, from 100 on as ``340``; an estimate as ``~12.3``."""
    if time is None:
        return None
    seconds = time.ms / 1000
    text = "0" if not time.ms else f"{seconds:.1f}" if seconds < 100 else f"{seconds:.0f}"
    return f"~{text}" if time.estimated else text


def lag_json(rows: Sequence[LagRow], snapshot: ClusterSnapshot) -> dict[str, object]:
    """Return the rows as a JSON object, by group."""
    return {
        "taken_at": instant(snapshot.taken_ms),
        "zookeeper": snapshot.zookeeper,
        "groups": [_group_json(of_group) for of_group in _by_group(rows).values()],
        "failures": [
            {"part": failure.part, "reason": failure.reason, "since": instant(failure.since_ms)}
            for failure in snapshot.failures
        ],
    }


def _group_json(rows: Sequence[LagRow]) -> dict[str, object]:
    group = rows[0].group
    known = [row.records for row in rows if row.records is not None]
    return {
        "group": group.group_id,
        "kind": group.kind,
        "state": group.state,
        "total_lag": sum(known) if known else None,
        "partitions": [_row_json(row) for row in rows],
    }


def _row_json(row: LagRow) -> dict[str, object]:
    partition, committed, time = row.partition, row.committed, row.time
    return {
        **partition.topic_partition._asdict(),
        "offset": None if committed is None else committed.offset,
        "storage": None if committed is None else committed.storage,
        "committed_at": None if committed is None else instant(committed.committed_ms),
        "log_start": partition.log_start,
        "log_end": partition.log_end,
        "lag": row.records,
        "seconds": None if time is None else time.ms / 1000,
        "seconds_estimated": None if time is None else time.estimated,
        "placement": row.placement.name.lower(),
        "owner": partition.owner,
        "problem": partition.problem or (_NEVER_COMMITTED if committed is None else None),
    }
