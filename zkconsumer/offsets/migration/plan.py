"""What a migration of offsets is to write, and what came of it: pure. Pure.

An offset means the same in both places: the next one to read. What differs is the metadata, which
ZooKeeper has no place for, so it is not compared.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset

Offset = OffsetAndMetadata | None
"""What a place holds, or shall hold, for a partition; None: nothing."""


class OffsetStorage(StrEnum):
    """Where a group keeps its offsets; the values are what users write."""

    ZOOKEEPER = "zookeeper"
    KAFKA = "kafka"


class Fate(StrEnum):
    """What the plan says of a partition; the values are what users read."""

    WRITE = "write"
    SAME = "same"
    KEEP = "keep"
    NO_SUCH_PARTITION = "no such partition"


class Ahead(StrEnum):
    """What to do where the target holds a larger offset than the source."""

    REFUSE = "refuse"
    KEEP = "keep"
    SET_BACK = "set back"


class MigrationRefused(ZkConsumerError):
    """The migration was not begun, and nothing was written; each reason says what to do.

    Attributes:
        reasons: all of them.
    """

    def __init__(self, group_id: str, reasons: Collection[str]) -> None:
        super().__init__(f"group {group_id}: nothing was written: {'; '.join(reasons)}")
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMove:
    """One partition.

    Attributes:
        topic_partition: which.
        wanted: what the target shall hold.
        before: what it holds.
        fate: what is done about it.
    """

    topic_partition: TopicPartition
    wanted: Offset
    before: Offset
    fate: Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """What is to be written.

    Attributes:
        moves: every partition that the source has an offset of, in order.
        refusals: why it must not be done; none where it may.
        only_in_target: partitions of which the target alone has an offset: they stay as they are.
    """

    moves: tuple[PartitionMove, ...]
    refusals: tuple[str, ...] = ()
    only_in_target: tuple[TopicPartition, ...] = ()

    @property
    def writes(self) -> dict[TopicPartition, PartitionMove]:
        """What is to be written, by partition."""
        return {move.topic_partition: move for move in self.moves if move.fate is Fate.WRITE}

    @property
    def expected(self) -> dict[TopicPartition, Offset]:
        """What the target shall hold in the end, of every partition that it could hold."""
        return {
            move.topic_partition: move.before if move.fate is Fate.KEEP else move.wanted
            for move in self.moves
            if move.fate is not Fate.NO_SUCH_PARTITION
        }


def plan_migration(
    source: Mapping[TopicPartition, FetchedOffset],
    target: Mapping[TopicPartition, FetchedOffset],
    *,
    exists: Callable[[TopicPartition], bool],
    ahead: Ahead = Ahead.REFUSE,
) -> MigrationPlan:
    """Compare both places.

    Args:
        source: what it holds; an entry without an offset is no offset.
        target: what it holds, at least of the same partitions.
        exists: whether the cluster has this partition: offsets of deleted topics stay behind.
        ahead: what to do where the target is further.
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
        fate = _fate(wanted, before, ahead) if exists(tp) else Fate.NO_SUCH_PARTITION
        moves.append(PartitionMove(topic_partition=tp, wanted=wanted, before=before, fate=fate))
    if ahead is Ahead.REFUSE:
        refusals += [_ahead_text(move) for move in moves if move.fate is Fate.KEEP]
    if not moves and not refusals:
        refusals.append("the source has no offsets of it: look at the group's name and the topics")
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
    """Undo a migration.

    Args:
        written: of each partition what the target held before, and what was to be written.
        target: what it holds now.
        force: also where it holds neither: somebody committed since.
    """
    refusals, moves = [], []
    for tp, (before, after) in sorted(written.items()):
        error = None if (found := target.get(tp)) is None else found.error
        now = offset_in(found)
        if same_offset(now, before):
            fate = Fate.SAME
        else:
            fate = Fate.WRITE
            if error is None and not same_offset(now, after) and not force:
                refusals.append(
                    f"{tp}: the migration wrote {_number(after)}, and now there is {_number(now)}: "
                    f"somebody committed since; --force sets it to {_number(before)} all the same"
                )
        if error is not None:
            refusals.append(f"{tp}: {error}")
        moves.append(PartitionMove(topic_partition=tp, wanted=before, before=now, fate=fate))
    return MigrationPlan(moves=tuple(moves), refusals=tuple(refusals))


def outside_the_log(
    plan: MigrationPlan, logs: Mapping[TopicPartition, tuple[int, int]]
) -> list[str]:
    """Which of the expected offsets are not in the log any more, and what comes of that.

    Args:
        plan: what the target shall hold.
        logs: first offset and end of those logs that could be asked for them.
    """
    reported = []
    for tp, wanted in plan.expected.items():
        if wanted is None or tp not in logs:
            continue
        start, end = logs[tp]
        if not start <= wanted.offset <= end:
            reported.append(
                f"{tp}: {wanted.offset} is not in the log [{start}, {end}): the next member starts "
                "where its auto.offset.reset says"
            )
    return reported


def offset_in(found: FetchedOffset | None) -> Offset:
    """What was read, as a value to write."""
    if found is None or found.offset is None:
        return None
    return OffsetAndMetadata(found.offset, found.metadata)


def same_offset(one: Offset, other: Offset) -> bool:
    """Return whether reading goes on from the same place."""
    return (one.offset if one else None) == (other.offset if other else None)


def _fate(wanted: OffsetAndMetadata, before: Offset, ahead: Ahead) -> Fate:
    if before is not None and before.offset == wanted.offset:
        return Fate.SAME
    if before is not None and before.offset > wanted.offset and ahead is not Ahead.SET_BACK:
        return Fate.KEEP
    return Fate.WRITE


def _ahead_text(move: PartitionMove) -> str:
    return (
        f"{move.topic_partition}: the target is at {_number(move.before)}, ahead of the source's "
        f"{_number(move.wanted)}: --keep-ahead leaves it there, --force sets it back"
    )


def _number(offset: Offset) -> str:
    return "none" if offset is None else str(offset.offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a plan, as read back from the target.

    Attributes:
        plan: what was to be done.
        found: what the target holds now, of every partition of the plan that exists.
        errors: why a write was refused, or what could not be read back.
        doubts: what happened meanwhile that makes the whole doubtful, such as a member that came.
    """

    plan: MigrationPlan
    found: Mapping[TopicPartition, FetchedOffset]
    errors: Mapping[TopicPartition, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def failed(self) -> dict[TopicPartition, str]:
        """The partitions that don't hold what they shall, and why as far as that is known."""
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
        """The partitions that were to be written, and hold it."""
        failed = self.failed
        return tuple(tp for tp in self.plan.writes if tp not in failed)

    @property
    def verified(self) -> bool:
        """Whether everything is as it shall be, without doubt."""
        return not self.failed and not self.doubts
