"""Plans how to set a group's offsets, before anything is written. Pure.

The plan is like a migration's, so that it is executed, verified and undone in the same way; but the
wanted offsets are derived from the logs, a file, or the present offsets.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias, assert_never

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import (
    Action,
    MigrationPlan,
    Offset,
    PartitionMove,
    offset_in,
    same_offset,
)
from zkconsumer.offsets.store import FetchedOffset


class LogRange(NamedTuple):
    """The log start offset and the log end offset of a partition."""

    start: int
    end: int


class Outside(StrEnum):
    """What to do with an offset that is not in the log; the values are what users write.

    If it is kept, the next member starts where its ``auto.offset.reset`` says, which may be the
    other end of the log.
    """

    REFUSE = "refuse"
    CLAMP = "clamp"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """Set to the beginning of every log."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """Set to the end of every log."""


@dataclass(frozen=True, slots=True)
class ToTime:
    """Set to the first record that is not older than a time, or to the end if there is none.

    Attributes:
        found: the offsets that the leaders returned; -1 if no record is that new.
        exact: whether leaders compare the times of records; before 0.10.1 those of segments.
    """

    found: Mapping[TopicPartition, int]
    exact: bool = True


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """Move forward by this number of offsets, or back if it is negative."""

    count: int


@dataclass(frozen=True, slots=True)
class ToOffsets:
    """Set to these offsets, for example from a file."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """Keep the group's offset, moved into its log if outside; set to the end if there is none."""


OffsetTarget: TypeAlias = ToEarliest | ToLatest | ToTime | ShiftBy | ToOffsets | ToCurrent


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAndLogs:
    """The present state of a group and its logs.

    Attributes:
        stored: the group's offsets, in the storage to be written.
        partitions: the cluster's partitions.
        logs: the logs of those partitions whose leaders responded.
        members: the live members of the group, as text.
    """

    stored: Mapping[TopicPartition, FetchedOffset]
    partitions: Collection[TopicPartition]
    logs: Mapping[TopicPartition, LogRange]
    members: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetPlan:
    """The offsets to be written, and what the user should know about them.

    Attributes:
        plan: moves and refusals; nothing may be written if there are refusals.
        logs: the logs that the plan is based on.
        notes: surprising facts, as sentences.
    """

    plan: MigrationPlan
    logs: Mapping[TopicPartition, LogRange] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def lag(self, tp: TopicPartition, offset: Offset) -> int | None:
        """Return how many records would be left to read from this offset; None: unknown."""
        if offset is None or tp not in self.logs:
            return None
        return max(0, self.logs[tp].end - offset.offset)


def plan_offsets(
    target: OffsetTarget,
    present: GroupAndLogs,
    *,
    scope: Collection[TopicPartition] | None = None,
    outside: Outside | None = None,
    force: bool = False,
) -> OffsetPlan:
    """Return each partition's present and wanted offset, and the reasons not to write them.

    Args:
        target: the wanted position.
        present: the present state.
        scope: the partitions to set; None: all with an entry of the group, or in the file.
        outside: what to do with an offset that is not in the log. None: refuse an offset that was
            given, and set a computed one to the nearest.
        force: continue although members are alive, or an entry or a log can't be read.
    """
    builder = _PlanBuilder(target, present, outside or _default_outside(target), force=force)
    wanted = sorted(_wanted(target, present) if scope is None else scope)
    moves = [builder.move(tp, named=scope is not None) for tp in wanted]
    refusals, notes = _liveness(present.members, force=force), builder.notes
    if isinstance(target, ToTime) and not target.exact:
        notes.append(
            "these brokers know only the times of whole segments: offsets are those of segment "
            "starts, and more is read again than was requested"
        )
    refusals += builder.refusals
    if not moves:
        refusals.append("there is nothing to set: the group has no offsets; name the topics")
    return OffsetPlan(
        plan=MigrationPlan(moves=tuple(moves), refusals=tuple(refusals)),
        logs={tp: log for tp, log in present.logs.items() if tp in set(wanted)},
        notes=tuple(notes),
    )


def named_partitions(
    names: Iterable[str], partitions: Collection[TopicPartition]
) -> set[TopicPartition]:
    """Return the partitions that ``topic`` or ``topic:0,2`` name.

    Raises:
        ConfigError: a name has another form, or there is no such topic.
    """
    found: set[TopicPartition] = set()
    for name in names:
        topic, colon, numbers = name.partition(":")
        of_topic = {tp for tp in partitions if tp.topic == topic}
        if not of_topic:
            raise ConfigError(f"{name!r}: the cluster has no topic {topic!r}")
        if not colon:
            found |= of_topic
            continue
        for number in numbers.split(","):
            if not is_decimal(number, 9):
                raise ConfigError(f"{name!r} is not TOPIC or TOPIC:PARTITION,PARTITION")
            found.add(TopicPartition(topic, int(number)))
    return found


def _wanted(target: OffsetTarget, present: GroupAndLogs) -> Collection[TopicPartition]:
    if isinstance(target, ToOffsets):
        return target.offsets
    return [
        tp for tp, stored in present.stored.items() if stored.offset is not None or stored.error
    ]


def _default_outside(target: OffsetTarget) -> Outside:
    return Outside.REFUSE if isinstance(target, ToOffsets) else Outside.CLAMP


def _liveness(members: Sequence[str], *, force: bool) -> list[str]:
    """Refuse a group with live members, whose next commit would overwrite the offsets."""
    if not members or force:
        return []
    return [
        f"the group has live members: {', '.join(members)}: stop them first; --force sets the "
        "offsets anyway, until a member commits again"
    ]


class _PlanBuilder:
    """Plans one partition after the other, and collects refusals and notes."""

    def __init__(
        self, target: OffsetTarget, present: GroupAndLogs, outside: Outside, *, force: bool
    ) -> None:
        self._target = target
        self._present = present
        self._outside = outside
        self._force = force
        self.refusals: list[str] = []
        self.notes: list[str] = []
        if present.members and force:
            members = ", ".join(present.members)
            self.notes.append(f"live members will overwrite it with their next commit: {members}")

    def move(self, tp: TopicPartition, *, named: bool) -> PartitionMove:
        """Plan one partition; if the user named it (``named``), it must exist."""
        found = self._present.stored.get(tp, FetchedOffset(None))
        before = offset_in(found)
        if tp not in self._present.partitions:
            if named:
                self.refusals.append(f"{tp}: there is no such partition")
            wanted = self._given(tp)
            return PartitionMove(
                topic_partition=tp, wanted=wanted, before=before, action=Action.NO_SUCH_PARTITION
            )
        if found.error is not None and isinstance(self._target, ToCurrent):
            # To treat it as no offset would skip all records left to read.
            self.refusals.append(f"{tp}: {found.error}: its current offset is unknown")
            return PartitionMove(topic_partition=tp, wanted=None, before=None, action=Action.KEEP)
        if found.error is not None:
            self._refuse_unless_forced(f"{tp}: {found.error}", "it can't be restored then")
        wanted = self._goal(tp, before)
        if wanted is None:
            return PartitionMove(
                topic_partition=tp, wanted=before, before=before, action=Action.KEEP
            )
        action = Action.SAME if same_offset(before, wanted) else Action.WRITE
        return PartitionMove(topic_partition=tp, wanted=wanted, before=before, action=action)

    def _given(self, tp: TopicPartition) -> Offset:
        offset = self._target.offsets.get(tp) if isinstance(self._target, ToOffsets) else None
        return None if offset is None else OffsetAndMetadata(offset)

    def _goal(self, tp: TopicPartition, before: Offset) -> OffsetAndMetadata | None:
        """Return the wanted offset; None with a refusal if it is unknown."""
        target, log = self._target, self._present.logs.get(tp)
        goal: OffsetAndMetadata | None
        match target:
            case ToEarliest():
                goal = None if log is None else OffsetAndMetadata(log.start)
            case ToLatest():
                goal = None if log is None else OffsetAndMetadata(log.end)
            case ToTime():
                goal = self._at_time(tp, target.found.get(tp), log)
            case ShiftBy():
                if before is None:
                    self.refusals.append(
                        f"{tp}: there is no offset to shift: set it to one end of the log"
                    )
                    return None
                goal = OffsetAndMetadata(before.offset + target.count)
            case ToOffsets():
                if tp not in target.offsets:
                    self.refusals.append(f"{tp}: the file has no offset for it")
                    return None
                goal = OffsetAndMetadata(target.offsets[tp])
            case ToCurrent():
                goal = before
                if goal is None and log is not None:
                    self.notes.append(f"{tp}: there is no offset: set to the end of its log")
                    goal = OffsetAndMetadata(log.end)
            case _:
                assert_never(target)
        return self._in_the_log(tp, goal, log)

    def _at_time(
        self, tp: TopicPartition, found: int | None, log: LogRange | None
    ) -> OffsetAndMetadata | None:
        if found is None or log is None:
            return None
        if found < 0:
            self.notes.append(f"{tp}: no record is that new: set to the end of its log")
            return OffsetAndMetadata(log.end)
        return OffsetAndMetadata(found)

    def _in_the_log(
        self, tp: TopicPartition, goal: OffsetAndMetadata | None, log: LogRange | None
    ) -> OffsetAndMetadata | None:
        if goal is None:
            self.refusals.append(
                f"{tp}: its leader did not respond, so the offset to set is unknown"
            )
            return None
        if log is None:
            self._refuse_unless_forced(
                f"{tp}: its leader did not respond, so whether {goal.offset} is in its log is "
                "unknown",
                "it is set anyway",
            )
            return goal if goal.offset >= 0 else None
        if log.start <= goal.offset <= log.end:
            return goal
        text = f"{tp}: {goal.offset} is not in its log [{log.start}, {log.end})"
        nearest = min(max(goal.offset, log.start), log.end)
        match self._outside:
            case Outside.CLAMP:
                self.notes.append(f"{text}: set to {nearest} instead")
                return OffsetAndMetadata(nearest, goal.metadata)
            case Outside.KEEP if goal.offset >= 0:
                self.notes.append(f"{text}: the next member resets it by auto.offset.reset")
                return goal
            case _:
                self.refusals.append(f"{text}: --outside clamp sets it to {nearest}")
                return None

    def _refuse_unless_forced(self, text: str, consequence: str) -> None:
        if self._force:
            self.notes.append(f"{text}; forced: {consequence}")
        else:
            self.refusals.append(f"{text}; with --force {consequence}")
