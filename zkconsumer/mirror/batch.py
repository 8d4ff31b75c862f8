"""Tracks polled messages on their way to the target, and the resulting positions. Pure.

An offset may be committed when everything before it is acknowledged. With ``key`` and
``round-robin`` the messages of one partition go to several partitions, so the position may be lower
than the last acknowledged offset. Messages that all go to one partition stay as fetched, without
an object per message.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, cast

from zkconsumer.mirror.landed import Landed, Run, joined_runs, runs_of
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.records.consumer_record import ConsumerRecord
from zkconsumer.records.rows import Headers, Row
from zkconsumer.records.slices import RecordSlice

if TYPE_CHECKING:
    from zkconsumer.native import _core


@dataclass(slots=True)
class _OffsetRun:
    """Source offsets of consecutive unwritten messages, all from one source partition."""

    source: TopicPartition
    runs: deque[Run]

    def take(self, count: int) -> tuple[Run, ...]:
        """Remove and return the offsets of the first ``count`` messages, or of all if fewer."""
        taken: list[Run] = []
        while count and self.runs:
            start, until = self.runs.popleft()
            if until - start > count:
                self.runs.appendleft((start + count, until))
                until = start + count
            taken.append((start, until))
            count -= until - start
        return joined_runs(taken)


@dataclass(slots=True)
class _Strand:
    """The unwritten messages of one target partition."""

    outgoing: OutgoingRecords = field(default_factory=OutgoingRecords)
    ranges: deque[_OffsetRun] = field(default_factory=deque)

    def add(self, source: TopicPartition, runs: Iterable[Run]) -> None:
        """Record the source offsets of messages that were added."""
        if self.ranges and self.ranges[-1].source == source:
            self.ranges[-1].runs.extend(runs)
        else:
            self.ranges.append(_OffsetRun(source, deque(runs)))

    def take(self, count: int) -> list[tuple[TopicPartition, tuple[Run, ...]]]:
        """Remove the first ``count`` messages; return their source offsets."""
        self.outgoing.drop(count)
        taken: list[tuple[TopicPartition, tuple[Run, ...]]] = []
        while count:
            front = self.ranges[0]
            runs = front.take(count)
            count -= sum(until - start for start, until in runs)
            taken.append((front.source, runs))
            if not front.runs:
                self.ranges.popleft()
        return taken


class MirrorBatch:
    """A batch of messages to write. Thread: one at a time.

    Attributes:
        size_bytes: the size of all keys and values, written or not.
        count: the number of messages added, written or not.
    """

    def __init__(self) -> None:
        self._strands: dict[TopicPartition, _Strand] = {}
        self._ends: dict[TopicPartition, int] = {}
        self.size_bytes = 0
        self.count = 0

    def add(
        self,
        source: TopicPartition,
        records: Sequence[ConsumerRecord],
        locations: Mapping[TopicPartition, Sequence[int]],
        *,
        next_offset: int,
        with_headers: bool = True,
    ) -> None:
        """Add messages of a source partition that go to several target partitions.

        Args:
            source: the partition.
            records: the messages in offset order, after those already added.
            locations: the indexes of the messages for each target, ascending.
            next_offset: the position after them, once all are written.
            with_headers: whether to keep their headers.
        """
        self._ends[source] = next_offset
        self.count += len(records)
        for target, indexes in locations.items():
            if not indexes:
                continue
            strand = self._strands.setdefault(target, _Strand())
            chosen = [records[index] for index in indexes]
            strand.outgoing.add_rows(
                [
                    _outgoing(
                        record.key,
                        record.value,
                        record.timestamp,
                        tuple(record.headers) if with_headers else (),
                    )
                    for record in chosen
                ]
            )
            strand.add(source, runs_of([record.offset for record in chosen]))
            self.size_bytes += sum(
                len(record.key or b"") + len(record.value or b"") for record in chosen
            )

    def add_slice(
        self,
        source: TopicPartition,
        piece: RecordSlice,
        target: TopicPartition,
        *,
        next_offset: int,
        with_headers: bool = True,
    ) -> tuple[Run, ...]:
        """Add messages of a source partition that go to one target partition; return their offsets.

        Args:
            source: the partition.
            piece: at least one message, after those already added.
            target: the target partition.
            next_offset: the position after them, once all are written.
            with_headers: whether to keep their headers.
        """
        self._ends[source] = next_offset
        self.count += len(piece)
        self.size_bytes += piece.size_bytes
        strand = self._strands.setdefault(target, _Strand())
        found: list[Run] = []
        headers: Mapping[int, Headers] | None = None
        location = 0
        for is_rows, parts in groupby(piece.parts(), lambda part: isinstance(part, Sequence)):
            if not is_rows:
                from zkconsumer.produce.run_sets import offset_ranges  # noqa: PLC0415 - native

                fetched = cast("list[_core.Run]", list(parts))
                strand.outgoing.add_runs(fetched, with_headers=with_headers)
                found += offset_ranges(fetched)
                location += sum(map(len, fetched))
                continue
            rows = [row for part in cast("Iterable[Sequence[Row]]", parts) for row in part]
            if headers is None:
                headers = piece.headers() if with_headers else {}
            strand.outgoing.add_rows(
                [
                    _outgoing(*row[1:4], headers.get(index, ()))
                    for index, row in enumerate(rows, location)
                ]
            )
            found += runs_of([row[0] for row in rows])
            location += len(rows)
        runs = joined_runs(found)
        strand.add(source, runs)
        return runs

    def extend(self, other: "MirrorBatch") -> None:
        """Append another batch, which must be wholly unwritten."""
        self._ends |= other._ends  # noqa: SLF001 - an instance of this class
        self.size_bytes += other.size_bytes
        self.count += other.count
        for target, strand in other._strands.items():  # noqa: SLF001
            known = self._strands.setdefault(target, _Strand())
            known.outgoing.extend(strand.outgoing)
            for range_ in strand.ranges:
                known.add(range_.source, range_.runs)

    def rest(self) -> dict[TopicPartition, OutgoingRecords]:
        """Return the unwritten messages."""
        return {
            target: strand.outgoing
            for target, strand in self._strands.items()
            if len(strand.outgoing)
        }

    def acknowledge(self, target: TopicPartition, base_offset: int, count: int) -> list[Landed]:
        """Record that a target's next ``count`` messages were written from ``base_offset`` on."""
        landed: list[Landed] = []
        for source, runs in self._strands[target].take(count):
            landed.append(Landed(source, runs, target, base_offset))
            base_offset += landed[-1].count
        return landed

    def drop_next(self, target: TopicPartition) -> tuple[TopicPartition, int]:
        """Drop the next message of a target; return its source partition and offset."""
        dropped = self.next_of(target)
        self._strands[target].take(1)
        return dropped

    def next_of(self, target: TopicPartition) -> tuple[TopicPartition, int]:
        """Return the source partition and offset of the next message of a target."""
        front = self._strands[target].ranges[0]
        return front.source, front.runs[0][0]

    def positions(self) -> dict[TopicPartition, int]:
        """Return each source partition's position: everything before it is written or dropped.

        Until the first message is written or dropped, the position is that message's offset.
        """
        found = dict(self._ends)
        for strand in self._strands.values():
            for range_ in strand.ranges:
                found[range_.source] = min(found[range_.source], range_.runs[0][0])
        return found


def _outgoing(key: bytes | None, value: bytes | None, timestamp: int, headers: Headers) -> Outgoing:
    """Return the message to write; the target assigns its offset."""
    plain = Record(0, key, value, timestamp)
    return HeadedRecord(plain, headers) if headers else plain
