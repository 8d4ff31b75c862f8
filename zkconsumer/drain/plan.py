"""Plans the next batch: its ranges, which are recorded before anything is read. Pure.

A plan is the drain's checkpoint. Once it is written, the batch has these ranges, however often its
landing is attempted. The next plan begins where this one ends.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Self

from zkconsumer.drain.fields import Fields, JsonValue, offsets_value, range_value, to_bytes
from zkconsumer.errors import DataLost, DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.creations import Creations
from zkconsumer.spark.data_loss import LogBounds
from zkconsumer.spark.offset_ranges import rate_limit

Positions = Mapping[TopicPartition, int]


class ClusterLogs(NamedTuple):
    """The current logs of the cluster, and the start positions of new partitions.

    Attributes:
        bounds: the starts and ends of the logs that can be read now.
        starts: the start positions of new partitions, at or after the log start offset.
        created: the creation of each topic, if known, which distinguishes recreated topics.
    """

    bounds: LogBounds
    starts: Positions
    created: Creations = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """The plan of one batch.

    Attributes:
        number: its number, from 1 without gaps.
        created_ms: the time of its creation, in ms since the epoch; messages without a timestamp
            get its date.
        positions: the next offset to land before this batch, for every known partition, new ones
            included.
        starts: the start offsets of the partitions that are new in this plan.
        ranges: the ranges to read, none empty, at most one per partition.
        expired: the ranges that the log no longer held when the batch was planned; each directly
            precedes its partition's range.
        notes: data of the landing, see ``Landing.prepare``.
        created: the creation of each topic, if known, which distinguishes recreated topics.
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
        """Return the next offset of every partition after this batch."""
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


def make_plan(
    last: BatchPlan | None,
    logs: ClusterLogs,
    *,
    now_ms: int,
    until: Positions = MappingProxyType({}),
    max_offsets: int | None = None,
) -> BatchPlan | None:
    """Plan the next batch; return None if there is nothing to land and no new partition.

    The first plan is never None: partitions that appear after it are new. New partitions are
    recorded, even if they are empty, so that their start does not move.

    Args:
        last: the plan of the last batch; None: there is none.
        logs: the state of the cluster.
        now_ms: the time in ms since the epoch.
        until: the offsets at which this run ends; without one, a partition ends with its log.
        max_offsets: the approximate maximum number of offsets in all ranges; None: no limit.
    """
    number, before, created = 1, {}, logs.created
    if last is not None:
        number, before, created = last.number + 1, last.after(), {**last.created, **logs.created}
    starts = {tp: at for tp, at in logs.starts.items() if tp not in before}
    positions = {**before, **starts}
    froms: dict[TopicPartition, int] = {}
    latest: dict[TopicPartition, int] = {}
    expired: list[OffsetRange] = []
    for tp, end in sorted(logs.bounds.latest.items()):
        at, begin = positions.get(tp), logs.bounds.earliest[tp]
        if at is None or end < at:
            continue
        if at < begin:
            expired.append(OffsetRange(tp, at, begin))
        froms[tp] = max(at, begin)
        latest[tp] = max(froms[tp], min(end, until.get(tp, end)))
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
        created=created,
    )


def refuse_expired(plan: BatchPlan, path: str) -> None:
    """Refuse ranges that the log lost before they could be landed.

    Raises:
        DrainError: there are such ranges; the message names each.
    """
    if plan.expired:
        lost = ", ".join(str(offsets) for offsets in plan.expired)
        raise DrainError(
            f"lost before it could be landed in {path}: {lost}. Retention has deleted these "
            "offsets from the logs. To continue after them, and record them as lost, give "
            "--no-fail-on-data-loss"
        )


def refused_loss(lost: DataLost, path: str) -> DrainError:
    """Return the error for planned offsets that the log lost before they could be read.

    Args:
        lost: the ranges and the reason.
        path: the drain's path, for messages.
    """
    offsets = OffsetRange(lost.topic_partition, lost.from_offset, lost.until_offset)
    return DrainError(
        f"lost before it could be landed in {path}: {offsets}: {lost.reason}. To continue without "
        "these offsets, and record them as lost, give --no-fail-on-data-loss"
    )


def refuse_truncated(ends: Positions, positions: Positions, path: str) -> None:
    """Refuse logs that end before the offsets up to which they are landed.

    This happens for a moment after a change of leaders; if it lasts, the topic was recreated or
    its log truncated.

    Raises:
        DrainError: there are such logs; the message names them.
    """
    cut = [
        f"{tp} ends at {end}, but was landed up to {positions[tp]}"
        for tp, end in sorted(ends.items())
        if tp in positions and end < positions[tp]
    ]
    if cut:
        raise DrainError(
            f"{path}: logs end before the offsets that were landed: {', '.join(cut[:10])}. The "
            "topic was deleted and recreated, its log was truncated, or this is another "
            "cluster, so its offsets mean other messages now: drain it to another path"
        )


def refuse_recreated(recreated: Collection[str], positions: Positions, path: str) -> None:
    """Refuse topics that were deleted and created again since they were landed or planned.

    Args:
        recreated: the topics that were deleted and created again.
        positions: the positions of the drain in them.
        path: the drain's path, for messages.

    Raises:
        DrainError: there are such topics; the message names their landed offsets.
    """
    landed = {tp: at for tp, at in positions.items() if tp.topic in recreated}
    if landed:
        reported = ", ".join(f"{tp} (landed up to {at})" for tp, at in sorted(landed.items())[:10])
        more = f", ... ({len(landed)} in all)" if len(landed) > 10 else ""
        raise DrainError(
            f"{path}: topics were deleted and recreated after they had been landed: "
            f"{', '.join(sorted({tp.topic for tp in landed}))}: {reported}{more}. Their offsets "
            "mean other messages now: drain them to another path"
        )
