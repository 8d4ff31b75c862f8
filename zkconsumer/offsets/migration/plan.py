"""Plans a migration of offsets, and judges its outcome. Pure.

An offset means the same in both storages: the next one to read. Metadata is not compared, since
ZooKeeper can't store it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset

Offset = OffsetAndMetadata | None
"""The present or wanted offset of a partition; None: no offset."""


class OffsetStorage(StrEnum):
    """The storage of a group's offsets; the values are what users write."""

    ZOOKEEPER = "zookeeper"
    KAFKA = "kafka"


class Action(StrEnum):
    """What the plan does with a partition; the values are what users read."""

    WRITE = "write"
    SAME = "same"
    KEEP = "keep"
    NO_SUCH_PARTITION = "no such partition"


class Ahead(StrEnum):
    """What to do if the target has a larger offset than the source."""

    REFUSE = "refuse"
    KEEP = "keep"
    REWIND = "rewind"


class MigrationRefused(ZkConsumerError):
    """The migration was not started, and nothing was written; each reason includes the remedy."""

    def __init__(self, group_id: str, reasons: Collection[str]) -> None:
        super().__init__(f"group {group_id}: nothing was written: {'; '.join(reasons)}")
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMove:
    """The plan for one partition.

    Attributes:
        topic_partition: the partition.
        wanted: the offset that the target should have.
        before: the offset that the target has.
        action: what is done with the partition.
    """

    topic_partition: TopicPartition
    wanted: Offset
    before: Offset
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """The plan of a migration.

    Attributes:
        moves: the moves of all partitions with an offset in the source, in order.
        refusals: why the plan must not be executed; empty if it may.
        only_in_target: partitions with an offset in the target alone, which is not changed.
    """

    moves: tuple[PartitionMove, ...]
    refusals: tuple[str, ...] = ()
    only_in_target: tuple[TopicPartition, ...] = ()

    @property
    def writes(self) -> dict[TopicPartition, PartitionMove]:
        """The moves to be written, by partition."""
        return {move.topic_partition: move for move in self.moves if move.action is Action.WRITE}

    @property
    def changes(self) -> dict[TopicPartition, tuple[Offset, Offset]]:
        """The offsets before, and those to be written, by partition."""
        return {tp: (move.before, move.wanted) for tp, move in self.writes.items()}

    @property
    def expected(self) -> dict[TopicPartition, Offset]:
        """The offset that the target should have in the end, for each existing partition."""
        return {
            move.topic_partition: move.before if move.action is Action.KEEP else move.wanted
            for move in self.moves
            if move.action is not Action.NO_SUCH_PARTITION
        }


def plan_migration(
    source: Mapping[TopicPartition, FetchedOffset],
    target: Mapping[TopicPartition, FetchedOffset],
    *,
    exists: Callable[[TopicPartition], bool],
    ahead: Ahead = Ahead.REFUSE,
) -> MigrationPlan:
    """Compare both storages; return the plan of a migration.

    Args:
        source: the source's entries; those without an offset are ignored.
        target: the target's entries, at least for the same partitions.
        exists: returns whether the cluster has a partition: offsets of deleted topics are skipped.
        ahead: what to do if the target's offset is larger.
    """
    refusals = [
        f"{tp}: {error}"
        for storage in (source, target)
        for tp, offset in sorted(storage.items())
        if (error := offset.error) is not None
    ]
    moves = []
    for tp, found in sorted(source.items()):
        if found.offset is None:
            continue
        wanted = OffsetAndMetadata(found.offset, found.metadata)
        before = offset_in(target.get(tp))
        action = _action(wanted, before, ahead) if exists(tp) else Action.NO_SUCH_PARTITION
        moves.append(PartitionMove(topic_partition=tp, wanted=wanted, before=before, action=action))
    if ahead is Ahead.REFUSE:
        refusals += [_ahead_text(move) for move in moves if move.action is Action.KEEP]
    if not moves and not refusals:
        refusals.append("the source has no offsets for it: check the group's name and the topics")
    known = {move.topic_partition for move in moves}
    others = (tp for tp, offset in target.items() if offset.offset is not None and tp not in known)
    return MigrationPlan(
        moves=tuple(moves), refusals=tuple(refusals), only_in_target=tuple(sorted(others))
    )


def plan_roll_back(
    written: Mapping[TopicPartition, tuple[Offset, Offset]],
    target: Mapping[TopicPartition, FetchedOffset],
    *,
    force: bool = False,
) -> MigrationPlan:
    """Return a plan that undoes a migration.

    Args:
        written: for each partition the target's offset before the migration, and the one written.
        target: the target's present offsets.
        force: overwrite offsets that were committed since the migration, too.
    """
    refusals, moves = [], []
    for tp, (before, after) in sorted(written.items()):
        error = None if (found := target.get(tp)) is None else found.error
        now = offset_in(found)
        if same_offset(now, before):
            action = Action.SAME
        else:
            action = Action.WRITE
            if error is None and not same_offset(now, after) and not force:
                refusals.append(
                    f"{tp}: the migration wrote {_number(after)}, and now there is {_number(now)}: "
                    f"somebody committed since; --force sets it to {_number(before)} all the same"
                )
        if error is not None:
            refusals.append(f"{tp}: {error}")
        moves.append(PartitionMove(topic_partition=tp, wanted=before, before=now, action=action))
    return MigrationPlan(moves=tuple(moves), refusals=tuple(refusals))


def outside_the_log(
    plan: MigrationPlan, logs: Mapping[TopicPartition, tuple[int, int]]
) -> list[str]:
    """Return sentences about expected offsets that are not in the log, and the consequence.

    Args:
        plan: the plan.
        logs: log start offset and log end offset of the known logs.
    """
    reported = []
    for tp, wanted in plan.expected.items():
        if wanted is None or tp not in logs:
            continue
        start, end = logs[tp]
        if not start <= wanted.offset <= end:
            reported.append(
                f"{tp}: {wanted.offset} is not in the log [{start}, {end}): the next member "
                "starts by its auto.offset.reset"
            )
    return reported


def offset_in(found: FetchedOffset | None) -> Offset:
    """Return an entry that was read as an offset to write."""
    if found is None or found.offset is None:
        return None
    return OffsetAndMetadata(found.offset, found.metadata)


def same_offset(first: Offset, second: Offset) -> bool:
    """Return whether reading would continue at the same offset."""
    return (first.offset if first else None) == (second.offset if second else None)


def _action(wanted: OffsetAndMetadata, before: Offset, ahead: Ahead) -> Action:
    if before is not None and before.offset == wanted.offset:
        return Action.SAME
    if before is not None and before.offset > wanted.offset and ahead is not Ahead.REWIND:
        return Action.KEEP
    return Action.WRITE


def _ahead_text(move: PartitionMove) -> str:
    return (
        f"{move.topic_partition}: the target is at {_number(move.before)}, ahead of the source's "
        f"{_number(move.wanted)}: --keep-ahead leaves it there, --force sets it back"
    )


def _number(offset: Offset) -> str:
    return "none" if offset is None else str(offset.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOutcome:
    """The outcome of a plan, as read back from the target.

    Attributes:
        plan: the plan.
        found: the target's present offsets, of every existing partition of the plan.
        errors: why writes failed, by partition.
        doubts: events that make the outcome doubtful, such as a member that joined.
    """

    plan: MigrationPlan
    found: Mapping[TopicPartition, FetchedOffset]
    errors: Mapping[TopicPartition, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def failed(self) -> dict[TopicPartition, str]:
        """The partitions without the expected offset, with the reasons as far as known."""
        failed = {}
        for tp, wanted in self.plan.expected.items():
            found = self.found.get(tp, FetchedOffset(None, "it could not be read back"))
            if found.error is None and same_offset(offset_in(found), wanted):
                continue
            reason = self.errors.get(tp) or found.error
            held = "" if found.error else f"it holds {_number(offset_in(found))}"
            failed[tp] = "; ".join(text for text in (reason, held) if text)
        return failed

    @property
    def written(self) -> tuple[TopicPartition, ...]:
        """The partitions that were to be written and have the expected offset."""
        failed = self.failed
        return tuple(tp for tp in self.plan.writes if tp not in failed)

    @property
    def verified(self) -> bool:
        """Whether every offset is as expected, without doubts."""
        return not self.failed and not self.doubts
