"""Detects changes of groups from one snapshot to the next. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.cli.groups.show import lag_text, total_lag
from zkconsumer.cli.tables import Cell, Colour, Painted, instant, sentence, table
from zkconsumer.model import TopicPartition
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.lag import records_behind
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupStatus
from zkconsumer.status.timeline import Rebalance, Timelines

_ROWS = ("TOPIC", ">PARTITION", ">OFFSET", ">READ", ">LOG END", ">LAG", "OWNER", "CHANGE")
_GROUPS = ("GROUP", "KIND", "STATE", ">MEMBERS", ">LAG", ">READ", "CHANGE")
_REBALANCES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one group since the previous snapshot.

    Attributes:
        group: its current status; None if it is gone.
        key: its identity.
        was: its previous status; None if it is new.
        events: descriptions of the changes, except those of offsets.
        read: the change of each partition's committed offset.
        rebalance: the rebalance that began, continued or ended; None if there was none.
    """

    group: GroupStatus | None
    key: GroupKey
    was: GroupStatus | None
    events: tuple[str, ...] = ()
    read: Mapping[TopicPartition, int]
    rebalance: Rebalance | None = None

    @property
    def total_read(self) -> int:
        """The sum of the changes of all committed offsets."""
        return sum(self.read.values())


class GroupChanges:
    """Compares successive snapshots. Thread: one.

    Args:
        key: the group to watch; None: all.
    """

    def __init__(self, key: GroupKey | None = None) -> None:
        self._key = key
        self._timelines = Timelines()
        self._last: dict[GroupKey, GroupStatus] | None = None

    def receive(self, snapshot: ClusterSnapshot) -> list[Change]:
        """Record a snapshot; return a change for each watched group, even if nothing changed."""
        events = {rebalance.key: rebalance for rebalance in self._timelines.record(snapshot)}
        groups = {key: group for key, group in snapshot.groups.items() if self._key in {None, key}}
        before, self._last = self._last, dict(groups)
        keys = sorted({*groups, *(before or {})}, key=lambda key: key[::-1])
        return [
            _change(
                key,
                (before or {}).get(key),
                groups.get(key),
                events.get(key),
                first=before is None,
            )
            for key in keys
        ]

    def rebalances(self, key: GroupKey) -> Sequence[Rebalance]:
        """Return the last rebalances of a group, the latest first."""
        return self._timelines.rebalances(key)[: -_REBALANCES_SHOWN - 1 : -1]


def _change(
    key: GroupKey,
    was: GroupStatus | None,
    now: GroupStatus | None,
    rebalance: Rebalance | None,
    *,
    first: bool,
) -> Change:
    events: list[str] = []
    if was is None and not first:
        events.append("new")
    elif now is None:
        events.append("gone")
    elif was is not None and now is not None:
        if was.state != now.state:
            events.append(f"{was.state} -> {now.state}")
        events += _owner_changes(was, now)
    if rebalance is not None:
        events.append(rebalance_text(rebalance))
    read = {} if was is None or now is None else _read(was, now)
    return Change(group=now, key=key, was=was, events=tuple(events), read=read, rebalance=rebalance)


def _owner_changes(was: GroupStatus, now: GroupStatus) -> Iterator[str]:
    before = was.by_partition
    for tp, partition in now.by_partition.items():
        old = before[tp].owner if tp in before else None
        if old != partition.owner:
            yield f"{tp}: {old or 'nobody'} -> {partition.owner or 'nobody'}"


def _read(was: GroupStatus, now: GroupStatus) -> dict[TopicPartition, int]:
    offsets = {
        partition.topic_partition: found.offset
        for partition in was.partitions
        if (found := partition.effective(was.kind)) is not None
    }
    return {
        partition.topic_partition: found.offset - offsets[partition.topic_partition]
        for partition in now.partitions
        if (found := partition.effective(now.kind)) is not None
        and partition.topic_partition in offsets
    }


def rebalance_text(rebalance: Rebalance) -> str:
    """Return a one-line description of a rebalance, with its causes."""
    reasons = "; ".join(map(format, rebalance.reasons)) or "cause not seen"
    if rebalance.ended_ms is None:
        return f"rebalance in progress: {reasons}"
    moved = (
        f"; {counted(len(rebalance.moved), 'partition')} changed hands" if rebalance.moved else ""
    )
    # It may have begun right after the last snapshot that did not show it.
    since_ms = rebalance.began_ms if rebalance.not_before_ms is None else rebalance.not_before_ms
    lasted = (rebalance.ended_ms - since_ms) / 1000
    return f"rebalance done within {lasted:.1f} s: {reasons}{moved}"


def group_screen(change: Change, rebalances: Sequence[Rebalance], at_ms: int) -> str:
    """Return a screen for one group: its partitions, changes, and last rebalances."""
    group = change.group
    if group is None:
        return sentence(f"{instant(at_ms)} {printable(str(change.key))}: there is no such group")
    text = sentence(_headline(change, at_ms))
    before = {} if change.was is None else change.was.by_partition
    rows: list[list[Cell]] = []
    for partition in group.partitions:
        tp, committed = partition.topic_partition, partition.effective(group.kind)
        old = before.get(tp, partition).owner
        rows.append(
            [
                *tp,
                None if committed is None else committed.offset,
                f"+{read}" if (read := change.read.get(tp, 0)) > 0 else str(read or ""),
                partition.log_end,
                records_behind(group.kind, partition),
                partition.owner,
                Painted("" if old == partition.owner else f"was {old or 'nobody'}", Colour.WARN),
            ]
        )
    text += table(_ROWS, rows)
    if rebalances:
        reported = [
            f"{instant(rebalance.began_ms)} {rebalance_text(rebalance)}" for rebalance in rebalances
        ]
        text += "\nrebalances since the watch began:\n" + "".join(
            sentence(printable(rebalance)) for rebalance in reported
        )
    return text


def _headline(change: Change, at_ms: int) -> str:
    group = change.group
    if group is None:
        return f"{instant(at_ms)} {printable(str(change.key))}: gone"
    read = f", {change.total_read:+d} read" if change.total_read else ""
    return (
        f"{instant(at_ms)} {printable(str(change.key))}: {group.state}, "
        f"{counted(len(group.members), 'member')}, lag {lag_text(group) or '-'}{read}"
    )


def groups_screen(changes: Sequence[Change], at_ms: int) -> str:
    """Return a screen for all groups."""
    rows: list[list[Cell]] = []
    for change in changes:
        group = change.group
        events = Painted("; ".join(change.events), Colour.WARN)
        if group is None:
            rows.append([change.key.group_id, change.key.kind, None, None, None, None, events])
            continue
        count = len(group.members)
        read = f"{change.total_read:+d}" if change.total_read else ""
        kind, state, lag = group.kind, group.state, lag_text(group)
        rows.append([group.group_id, kind, state, count, lag, read, events])
    return f"{instant(at_ms)}\n" + table(_GROUPS, rows)


def appended_lines(changes: Sequence[Change], at_ms: int, *, always: bool) -> str:
    """Return lines for an output that is not redrawn: one for each group and each event.

    Args:
        changes: the changes since the previous snapshot.
        at_ms: the time of the snapshot.
        always: whether to include all groups; otherwise only those with events or progress.
    """
    lines: list[str] = []
    for change in changes:
        is_new = change.was is None and change.group is not None
        if always or is_new or change.events or change.total_read:
            lines.append(_headline(change, at_ms))
        lines += [f"  {printable(events)}" for events in change.events]
    return "".join(map(sentence, lines))


def change_json(change: Change, at_ms: int) -> dict[str, object]:
    """Return a change as a JSON object."""
    group, rebalance = change.group, change.rebalance
    return {
        "at": instant(at_ms),
        "group": change.key.group_id,
        "kind": change.key.kind,
        "state": None if group is None else group.state,
        "members": None if group is None else len(group.members),
        "total_lag": None if group is None else total_lag(group),
        "read": change.total_read,
        "news": list(change.events),
        "rebalance": None
        if rebalance is None
        else {
            "began_at": instant(rebalance.began_ms),
            "ended_at": instant(rebalance.ended_ms),
            "reasons": [f"{reason}" for reason in rebalance.reasons],
            "moved": [
                {
                    **move.topic_partition._asdict(),
                    "before": move.before,
                    "after": move.after,
                }
                for move in rebalance.moved
            ],
        },
    }
