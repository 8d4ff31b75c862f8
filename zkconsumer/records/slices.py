"""Holds fetched records of both engines, and the slices of them that the caller gets.

Fetched records are kept in the form of their engine: runs, rows, or runs and then rows. Objects are
made only when a slice is handed over, so records that nobody reads cost no object.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeAlias, cast

from zkconsumer.errors import CorruptRecord
from zkconsumer.model import Record
from zkconsumer.records.batch_header import NO_LEADER_EPOCH
from zkconsumer.records.consumer_record import ConsumerRecord, RecordOrigin, consumer_record
from zkconsumer.records.decode import DecodedSet
from zkconsumer.records.entries import offset_after
from zkconsumer.records.memory import records_bytes
from zkconsumer.records.rows import Headers, Row, Rows

if TYPE_CHECKING:
    from zkconsumer.native import _core

    Part: TypeAlias = "_core.Runs | RowsPart"


class RowsPart:
    """Records that were decoded in Python; the core's are ``_core.Fetched`` and ``_core.Runs``.

    Args:
        decoded: the set.
        start: the index of the first record.
        stop: the index after the last one.
    """

    __slots__ = ("_decoded", "_start", "_stop")

    def __init__(self, decoded: DecodedSet, start: int, stop: int) -> None:
        self._decoded = decoded
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def first_offset(self) -> int | None:
        """The offset of the first record; None if it is empty."""
        return self._decoded.records.plain[self._start][0] if self else None

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record; None if it is empty."""
        return self._decoded.records.plain[self._stop - 1][0] if self else None

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the last record; -1 if unknown."""
        return self._decoded.leader_epoch(self._stop - 1) if self else NO_LEADER_EPOCH

    @property
    def memory_bytes(self) -> int:
        """The memory of the whole set."""
        return self._decoded.memory_bytes

    @property
    def size_bytes(self) -> int:
        """The size of its keys and values in bytes."""
        return sum(len(row[1] or b"") + len(row[2] or b"") for row in self.rows)

    @property
    def rows(self) -> list[Row]:
        """A copy of its rows."""
        return self._decoded.records.plain[self._start : self._stop]

    def take(self, count: int) -> "RowsPart":
        """Remove up to ``count`` records from the front and return them."""
        start = self._start
        self._start = min(start + count, self._stop)
        return RowsPart(self._decoded, start, self._start)

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """See ``RecordSlice``."""
        headers, index = self._decoded.headers, self._start
        made: list[ConsumerRecord] = []
        for stop, epoch in self._epoch_runs():
            rows = self._decoded.records.plain[index:stop]
            if headers:
                made += [
                    consumer_record(origin, row, headers.get(at, ()), epoch)
                    for at, row in enumerate(rows, index)
                ]
            else:
                made += [consumer_record(origin, row, (), epoch) for row in rows]
            index = stop
        return made

    def headers(self) -> dict[int, Headers]:
        """See ``RecordSlice``."""
        found = self._decoded.headers
        if not found:
            return {}
        wanted = range(self._start, self._stop)
        return {index - self._start: found[index] for index in wanted if index in found}

    def _epoch_runs(self) -> Iterable[tuple[int, int]]:
        """Yield the end index of each run of one epoch, with that epoch."""
        if self._start == self._stop:
            return
        epochs = self._decoded.leader_epochs
        first = bisect_right(epochs, self._start, key=lambda pair: pair[0])
        last = bisect_left(epochs, self._stop, key=lambda pair: pair[0])
        for place in range(first, last + 1):
            stop = epochs[place][0] if place < last else self._stop
            yield stop, epochs[place - 1][1] if place else NO_LEADER_EPOCH


class RecordSlice:
    """Consecutive records of one partition, for one caller; immutable.

    Each call of ``records`` makes new objects.

    Attributes:
        pieces: the records in order, in the form of their engine; none is empty.
        next_offset: the position of a consumer that has taken this slice. It is after the last
            record; if the slice ends with the last record of all, it is after everything that was
            read (markers, aborted and compacted batches included).
        leader_epoch: the leader epoch of the data before ``next_offset``; -1 if unknown, as it is
            for a slice without records that precedes others.
    """

    __slots__ = ("leader_epoch", "next_offset", "pieces")

    def __init__(self, pieces: "Sequence[Part]", next_offset: int, leader_epoch: int) -> None:
        self.pieces = pieces
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch

    @classmethod
    def joined(cls, slices: "Sequence[RecordSlice]") -> "RecordSlice":
        """Join one or more consecutive slices, so that small responses are handed out together."""
        last = slices[-1]
        if len(slices) == 1:
            return last
        pieces = [piece for joined in slices for piece in joined.pieces]
        return cls(pieces, last.next_offset, last.leader_epoch)

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    @property
    def first_offset(self) -> int:
        """The offset of the first record; ``next_offset`` if it is empty."""
        return cast("int", self.pieces[0].first_offset) if self.pieces else self.next_offset

    @property
    def size_bytes(self) -> int:
        """The size of its keys and values in bytes."""
        return sum(part.size_bytes for part in self.pieces)

    def records(self, origin: RecordOrigin) -> list[ConsumerRecord]:
        """Make all records of the slice.

        Args:
            origin: their partition and deserializers.
        """
        made: list[ConsumerRecord] = []
        for part in self.pieces:
            if isinstance(part, RowsPart):
                found = part.records(origin)
            else:
                found = cast("list[ConsumerRecord]", part.records(_native(origin)))
            made = made + found if made else found
        return made

    def parts(self) -> "list[_core.Run | list[Row]]":
        """Return the parts for columns: native runs or plain rows, in order."""
        found: list[_core.Run | list[Row]] = []
        for part in self.pieces:
            found += [part.rows] if isinstance(part, RowsPart) else part.runs
        return found

    def headers(self) -> Mapping[int, Headers]:
        """Return the headers of the records that have any, by index."""
        found: dict[int, Headers] = {}
        start = 0
        for part in self.pieces:
            found |= {start + index: headers for index, headers in part.headers().items()}
            start += len(part)
        return found

    def __repr__(self) -> str:
        return f"RecordSlice({len(self)} records up to {self.next_offset})"


class FetchedRecords:
    """The records of a fetched record set that have not been taken yet.

    Thread: one at a time. Taking records does not affect slices taken before.

    Args:
        waiting: the records in order; for the other arguments see the attributes.

    Attributes:
        next_offset: the next fetch offset, as in ``DecodedSet``. There may be progress without
            records.
        valid_bytes: the size of the entries read.
        first_entry_size_bytes: the size of the first entry if it is incomplete; else None.
        error: the error of the entry at which reading stopped; None if there is none.
        memory_bytes: the memory that it takes until it is released.
        last_leader_epoch: the leader epoch of the last batch read; -1 if unknown. It belongs to
            ``next_offset``.
        refused_at: the position at which the core stopped and Python took over; None if it did not.
    """

    __slots__ = (
        "_waiting",
        "error",
        "first_entry_size_bytes",
        "last_leader_epoch",
        "memory_bytes",
        "next_offset",
        "refused_at",
        "valid_bytes",
    )

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        waiting: "Sequence[_core.Fetched | RowsPart]",
        *,
        next_offset: int,
        valid_bytes: int,
        first_entry_size_bytes: int | None,
        last_leader_epoch: int,
        error: CorruptRecord | None = None,
        refused_at: int | None = None,
    ) -> None:
        self._waiting = waiting
        self.next_offset = next_offset
        self.valid_bytes = valid_bytes
        self.first_entry_size_bytes = first_entry_size_bytes
        self.last_leader_epoch = last_leader_epoch
        self.error = error
        self.refused_at = refused_at
        self.memory_bytes = sum(part.memory_bytes for part in waiting)

    @classmethod
    def of(
        cls,
        decoded: DecodedSet,
        before: "Sequence[_core.Fetched]" = (),
        refused_at: int | None = None,
    ) -> Self:
        """Return the records of a set that was decoded in Python.

        Args:
            decoded: the set, or the rest of it.
            before: the records before it, which the core decoded.
            refused_at: see the attribute.
        """
        return cls(
            [*before, RowsPart(decoded, 0, len(decoded.records))],
            next_offset=decoded.next_offset,
            valid_bytes=decoded.valid_bytes,
            first_entry_size_bytes=decoded.first_entry_size_bytes,
            last_leader_epoch=decoded.last_leader_epoch,
            error=decoded.error,
            refused_at=refused_at,
        )

    def __len__(self) -> int:
        return sum(map(len, self._waiting))

    @property
    def first_offset(self) -> int | None:
        """The offset of the first record left; None if no record is left."""
        return next((part.first_offset for part in self._waiting if len(part)), None)

    @property
    def last_offset(self) -> int | None:
        """The offset of the last record left; None if no record is left."""
        return next((part.last_offset for part in reversed(self._waiting) if len(part)), None)

    def take(self, count: int) -> RecordSlice:
        """Remove up to ``count`` records from the front and return them."""
        parts = self._take(max(0, count))
        if not len(self):
            return RecordSlice(parts, self.next_offset, self.last_leader_epoch)
        if not parts:
            return RecordSlice(parts, cast("int", self.first_offset), NO_LEADER_EPOCH)
        last = parts[-1]
        return RecordSlice(parts, offset_after(cast("int", last.last_offset)), last.leader_epoch)

    def take_records(self) -> tuple[Sequence[Record], int]:
        """Remove all records; return them in the form of a stream's chunk, and their memory.

        Records of the native engine stay runs, unless some of the set were decoded in Python: then
        objects are made for all of them.
        """
        parts = self._take(sys.maxsize)
        if not parts:
            return (), 0
        if len(parts) > 1:
            records = [record for part in parts for record in _sequence_of(part)]
            return records, records_bytes(records)
        (part,) = parts
        if not isinstance(part, RowsPart):
            part.settle()
        return _sequence_of(part), part.memory_bytes

    def _take(self, count: int) -> "list[Part]":
        parts: list[Part] = []
        for waiting in self._waiting:
            part = waiting.take(count)
            if len(part):
                parts.append(part)
                count -= len(part)
        return parts

    def __repr__(self) -> str:
        return f"FetchedRecords({len(self)} records up to {self.next_offset}, error={self.error!r})"


def _sequence_of(part: "Part") -> Sequence[Record]:
    return Rows(part.rows) if isinstance(part, RowsPart) else part


def _native(origin: RecordOrigin) -> "_core.Origin[object, object]":
    """Return the core's counterpart of an origin; made once."""
    if origin.native is None:
        from zkconsumer.native import _core  # noqa: PLC0415 - it made the runs: it is loaded

        origin.native = _core.Origin(
            origin.topic, origin.partition, origin.key_deserializer, origin.value_deserializer
        )
    return cast("_core.Origin[object, object]", origin.native)
