"""Plan the next batch: its ranges, written down before anything is read. Pure.

A plan is the drain's checkpoint. Once it is written, this batch is these ranges, however often its
landing is tried. The next plan begins where this one ends.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from zkconsumer.drain.fields import Fields, JsonValue, offsets_value, range_value, to_bytes
from zkconsumer.errors import DataLost, DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.offset_ranges import rate_limit

Positions = Mapping[TopicPartition, int]


class LogEnds(NamedTuple):
    """Where a partition's log begins and ends now: the first offset, and the next to be written."""

    earliest: int
    latest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """One batch.

    Attributes:
        number: counts from 1, without gaps.
        created_ms: when it was made, since the epoch; gives the date of messages without a
            timestamp.
        positions: for every partition that the drain knows, the next offset to land before this
            batch; those that are new included.
        starts: of the partitions that are new in this plan, where their landing starts.
        ranges: what is to be read, none of them empty, one a partition.
        expired: what the log no longer held when the plan was made; directly in front of the
            partition's range.
        notes: what the landing wanted to be kept, see ``Landing.prepare``.
        created: the creation of each topic, which identifies it among topics of its name, if known.
    """

    number: int
    created_ms: int
    positions: Positions
    starts: Positions
    ranges: tuple[OffsetRange, ...]
    expired: tuple[OffsetRange, ...] = ()
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    created: Creations = field(default_factory=dict)

    def after(self) -> dict[TopicPartition, int]:
        """Return the next offset to land of every partition once this batch is landed."""
        ends = {part.topic_partition: part.until_offset for part in (*self.expired, *self.ranges)}
        return {**self.positions, **ends}

    def to_bytes(self) -> bytes:
        """Serialize the plan."""
        return to_bytes(
            {
                "number": self.number,
                "created_ms": self.created_ms,
                "positions": offsets_value(self.positions),
                "starts": offsets_value(self.starts),
                "ranges": [range_value(wanted) for wanted in self.ranges],
                "expired": [range_value(lost) for lost in self.expired],
                "notes": dict(self.notes),
                "created": dict(sorted(self.created.items())),
            }
        )

    @classmethod
    def from_bytes(cls, file: str, data: bytes) -> Self:
        """Read a plan.

        Raises:
            DrainError: the file is damaged.
        """
        fields = Fields.parse(file, data)
        return cls(
            number=fields.integer("number"),
            created_ms=fields.integer("created_ms"),
            positions=fields.offsets("positions"),
            starts=fields.offsets("starts"),
            ranges=tuple(item.range() for item in fields.items("ranges")),
            expired=tuple(item.range() for item in fields.items("expired")),
            notes=fields.mapping("notes"),
            created=fields.texts("created"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The inputs of a plan.

    Attributes:
        positions: the positions of the drain, by partition.
        ends: the log's ends, of the partitions that can be asked for now.
        starts: the start positions of new partitions, at or after the log start offset.
        until: where this run is to stop, where that is before the log's end.
        created: the creation of each topic, which identifies it among topics of its name, if known.
    """

    positions: Positions
    ends: Mapping[TopicPartition, LogEnds]
    starts: Positions
    until: Positions = field(default_factory=dict)
    created: Creations = field(default_factory=dict)

    def shrunk(self) -> dict[TopicPartition, LogEnds]:
        """Return the partitions whose logs end before the offset up to which they were landed.

        This happens for a moment after a change of leaders; if it lasts, the topic was created
        again or its log was truncated, and its offsets mean other messages.
        """
        return {
            tp: ends
            for tp, ends in self.ends.items()
            if tp in self.positions and ends.latest < self.positions[tp]
        }


def make_plan(
    number: int,
    now_ms: int,
    situation: Situation,
    max_offsets: int | None = None,
) -> BatchPlan | None:
    """Plan the next batch; None if there is nothing to land and no new partition.

    There always is a first plan: from then on, partitions that appear are new ones.

    A partition that is new is remembered, even if it holds nothing yet: its start must not move.

    Args:
        number: of the plan.
        now_ms: since the epoch.
        situation: what is known.
        max_offsets: how many offsets it may have, about, in all; everything there is unless given.
    """
    starts = {tp: at for tp, at in situation.starts.items() if tp not in situation.positions}
    positions = {**situation.positions, **starts}
    froms: dict[TopicPartition, int] = {}
    latest: dict[TopicPartition, int] = {}
    expired: list[OffsetRange] = []
    for tp, ends in sorted(situation.ends.items()):
        at = positions.get(tp)
        if at is None or ends.latest < at:
            continue
        if at < ends.earliest:
            expired.append(OffsetRange(tp, at, ends.earliest))
        froms[tp] = max(at, ends.earliest)
        latest[tp] = max(froms[tp], min(ends.latest, situation.until.get(tp, ends.latest)))
    untils = latest if max_offsets is None else rate_limit(froms, latest, max_offsets)
    ranges = tuple(
        OffsetRange(tp, at, untils[tp]) for tp, at in froms.items() if untils.get(tp, at) > at
    )
    if number > 1 and not (ranges or expired or starts):
        return None
    return BatchPlan(
        number=number,
        created_ms=now_ms,
        positions=positions,
        starts=starts,
        ranges=ranges,
        expired=tuple(expired),
        created=situation.created,
    )


def refuse_expired(plan: BatchPlan, path: str) -> None:
    """Refuse ranges that the log lost before they could be landed.

    Raises:
        DrainError: it did; names each range.
    """
    if plan.expired:
        lost = ", ".join(str(offsets) for offsets in plan.expired)
        raise DrainError(
            f"lost before it could be landed in {path}: {lost}. The logs begin behind it now "
            "(retention was faster). To go on behind it, with these ranges recorded as lost: "
            "--no-fail-on-data-loss"
        )


def refused_loss(lost: DataLost, path: str) -> DrainError:
    """Return the error for planned offsets that the log lost before they could be read.

    Args:
        lost: what and why.
        path: of the drain, for people.
    """
    offsets = OffsetRange(lost.topic_partition, lost.from_offset, lost.until_offset)
    return DrainError(
        f"lost before it could be landed in {path}: {offsets}: {lost.reason}. To go on without it, "
        "with what is lost recorded: --no-fail-on-data-loss"
    )


def refuse_recreated(recreated: Collection[str], positions: Positions, path: str) -> None:
    """Refuse topics that were deleted and created again since they were landed or planned.

    Args:
        recreated: the topics that were deleted and created again.
        positions: the positions of the drain in them.
        path: of the drain, for people.

    Raises:
        DrainError: there are some; names each with how far it was landed.
    """
    landed = {tp: at for tp, at in positions.items() if tp.topic in recreated}
    if landed:
        reported = ", ".join(f"{tp} (landed up to {at})" for tp, at in sorted(landed.items())[:10])
        more = f", ... ({len(landed)} in all)" if len(landed) > 10 else ""
        raise DrainError(
            f"{path}: deleted and created again since they were landed: topics "
            f"{', '.join(sorted({tp.topic for tp in landed}))}: {reported}{more}. Their offsets "
            "mean other messages now: drain them to another path"
        )
