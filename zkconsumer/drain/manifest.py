"""The manifest of a landed batch: its files, and their contents by partition. Pure.

Writing the manifest is the commit point of a batch: before it, nothing is landed; after it,
everything is, and any later run does the rest (moving the files).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.fields import Fields, JsonValue, damaged, range_value, to_bytes
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.coverage import EXCUSED, Discrepancy
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True, order=True)
class Absence:
    """A range of offsets without messages.

    Attributes:
        from_offset: the first absent offset.
        until_offset: the offset after the last absent one.
        count: the number of absent offsets; less than the length of the range if there were too
            many holes to record individually.
        kind: the reason, one of ``EXCUSED``.
    """

    from_offset: int
    until_offset: int
    count: int
    kind: Discrepancy


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedPart:
    """The landed rows of one partition's range.

    Attributes:
        offsets: the planned range.
        contents: the contents of its landed rows, dead letters included.
        absent: the offsets that the log did not have, in order.
        dead_lettered: the number of dead letters among the rows.
    """

    offsets: OffsetRange
    contents: Contents
    absent: tuple[Absence, ...] = ()
    dead_lettered: int = 0

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the range."""
        return self.offsets.topic_partition

    def complaint(self) -> str | None:
        """Return why the part does not hold its range exactly once; None if it does."""
        have, absent = self.contents, sum(absence.count for absence in self.absent)
        if have.rows + absent != self.offsets.count:
            return (
                f"{self.offsets} has {self.offsets.count} offsets, and {have.rows} messages were "
                f"landed and {absent} found absent from the log"
            )
        if not 0 <= self.dead_lettered <= have.rows:
            return f"{self.offsets} has {self.dead_lettered} dead letters of {have.rows} messages"
        first, last = have.first_offset, have.last_offset
        if (first is not None and first < self.offsets.from_offset) or (
            last is not None and last >= self.offsets.until_offset
        ):
            return f"{self.offsets} was requested, and offsets {first} to {last} were landed"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedFile:
    """A file of a batch.

    Attributes:
        staged: the path where it was written, below the batch's staging folder (attempt included).
        path: its final path, below the drain's path.
        size_bytes: its length.
        values: the values of the partition columns in its path, by name.
    """

    staged: str
    path: str
    size_bytes: int
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One landed batch.

    Attributes:
        number: the number of its plan.
        attempt: the name of the attempt that landed it, and of the folder of its staged files.
        landed_ms: the time of landing, in ms since the epoch.
        files: the files, ordered by path; none if the landing has no files.
        parts: one for every range of the plan, in its order.
        notes: data that the landing recorded.
        dead_letters: files of messages that could not be decoded, ordered by path.
    """

    number: int
    attempt: str
    landed_ms: int
    files: tuple[LandedFile, ...] = ()
    parts: tuple[LandedPart, ...] = ()
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    dead_letters: tuple[LandedFile, ...] = ()

    @property
    def rows(self) -> int:
        """The number of landed messages, dead letters included."""
        return sum(part.contents.rows for part in self.parts)

    @property
    def dead_lettered(self) -> int:
        """The number of dead letters."""
        return sum(part.dead_lettered for part in self.parts)

    def to_bytes(self) -> bytes:
        """Serialize the manifest."""
        return to_bytes(
            {
                "number": self.number,
                "attempt": self.attempt,
                "landed_ms": self.landed_ms,
                "files": [_file_value(file) for file in self.files],
                "parts": [_part_value(part) for part in self.parts],
                "notes": dict(self.notes),
                "dead_letters": [_file_value(file) for file in self.dead_letters],
            }
        )

    @classmethod
    def from_bytes(cls, file: str, data: bytes) -> Self:
        """Read a manifest.

        Raises:
            DrainError: the file is damaged.
        """
        fields = Fields.parse(file, data)
        return cls(
            number=fields.integer("number"),
            attempt=fields.text("attempt"),
            landed_ms=fields.integer("landed_ms"),
            files=tuple(_file(item) for item in fields.items("files")),
            parts=tuple(_part(item) for item in fields.items("parts")),
            notes=fields.mapping("notes"),
            dead_letters=tuple(_file(item) for item in fields.added_items("dead_letters")),
        )


def landed_parts(
    plan: BatchPlan,
    contents: Mapping[TopicPartition, Contents],
    absent: Mapping[TopicPartition, tuple[Absence, ...]],
    dead: Mapping[TopicPartition, Contents],
) -> tuple[LandedPart, ...]:
    """Return one part for every range of a plan, in its order.

    Args:
        plan: the plan of the batch.
        contents: the contents of the landed rows, dead letters included.
        absent: the offsets that the log did not have.
        dead: the contents of the dead letters.
    """
    nothing = Contents()
    return tuple(
        LandedPart(
            offsets=wanted,
            contents=contents.get(wanted.topic_partition, nothing),
            absent=absent.get(wanted.topic_partition, ()),
            dead_lettered=dead.get(wanted.topic_partition, nothing).rows,
        )
        for wanted in plan.ranges
    )


def check(manifest: Manifest, plan: BatchPlan) -> None:
    """Check that each planned offset was landed once or is known to be absent.

    Raises:
        DrainError: an offset is missing or duplicated; the batch must not be published.
    """
    complaints = [text for part in manifest.parts if (text := part.complaint()) is not None]
    if tuple(part.offsets for part in manifest.parts) != plan.ranges:
        complaints.append("the landed ranges are not those of the plan")
    if manifest.number != plan.number:
        complaints.append(f"the manifest is of batch {manifest.number}")
    if complaints:
        raise DrainError(
            f"batch {plan.number} is not what was planned, nothing of it was published: "
            + "; ".join(complaints)
        )


def _file_value(file: LandedFile) -> JsonValue:
    return {
        "staged": file.staged,
        "path": file.path,
        "bytes": file.size_bytes,
        "values": dict(file.values),
    }


def _file(fields: Fields) -> LandedFile:
    values = fields.mapping("values")
    if not all(isinstance(value, str) for value in values.values()):
        raise damaged(fields.file, f"values of a file's columns are no texts: {values}")
    return LandedFile(
        staged=fields.text("staged"),
        path=fields.text("path"),
        size_bytes=fields.integer("bytes"),
        values={name: str(value) for name, value in values.items()},
    )


def _part_value(part: LandedPart) -> JsonValue:
    return {
        **range_value(part.offsets),
        "rows": part.contents.rows,
        "first_offset": part.contents.first_offset,
        "last_offset": part.contents.last_offset,
        "checksum": str(part.contents.checksum),
        "dead_lettered": part.dead_lettered,
        "absent": [
            {
                "from": absence.from_offset,
                "until": absence.until_offset,
                "count": absence.count,
                "kind": str(absence.kind),
            }
            for absence in part.absent
        ],
    }


def _part(fields: Fields) -> LandedPart:
    try:
        checksum = Checksum.parse(fields.text("checksum"))
    except ValueError as error:
        raise damaged(fields.file, str(error)) from error
    return LandedPart(
        offsets=fields.range(),
        contents=Contents(
            rows=fields.integer("rows"),
            first_offset=fields.optional_integer("first_offset"),
            last_offset=fields.optional_integer("last_offset"),
            checksum=checksum,
        ),
        absent=tuple(_absence(item) for item in fields.items("absent")),
        dead_lettered=fields.added_integer("dead_lettered"),
    )


def _absence(fields: Fields) -> Absence:
    kind = fields.text("kind")
    if kind not in EXCUSED:
        raise damaged(fields.file, f"{kind!r} is no reason why offsets are absent")
    return Absence(
        from_offset=fields.integer("from"),
        until_offset=fields.integer("until"),
        count=fields.integer("count"),
        kind=Discrepancy(kind),
    )
