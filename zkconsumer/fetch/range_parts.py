"""Results of reading a range: parts with records, and lost offset ranges. Pure.

Records stay as the engine decoded them, as runs (native) or as plain rows, so that Arrow columns
can be made from sets of any magic without a Python object for each record.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zkconsumer.model import OffsetRange, Record, TopicPartition
from zkconsumer.records.rows import Headers, Row, as_records
from zkconsumer.records.slices import FetchedRecords, RecordSlice

if TYPE_CHECKING:
    from zkconsumer.native import _core

_ENTRY_BYTES = 26
"""Size of a magic 0 record in the log besides key and value."""
_RUN_ENTRY_BYTES = 34
"""Maximum size of a record without headers in the log, besides key and value."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RangePart:
    """Hold records of a range, in log order: runs or rows, never both, and at least one.

    Attributes:
        runs: the records, of the native engine.
        rows: the records, of the engine in Python.
        next_offset: where the next part starts; at most the end of the range.
        row_headers: headers of rows, by offset; may include rows of other parts.
    """

    runs: "Sequence[_core.Run]" = ()
    rows: Sequence[Row] = ()
    next_offset: int
    row_headers: Mapping[int, Headers] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.runs)) + len(self.rows)

    def records(self) -> list[Record]:
        """Build all records."""
        records = as_records(self.rows)
        for run in self.runs:
            records += run.records()
        return records

    def header_bytes(self) -> int:
        """Estimate the size of runs' headers in the log, bytes; those of rows are in memory."""
        return sum(
            run.size_bytes - run.key_bytes - run.value_bytes - _RUN_ENTRY_BYTES * len(run)
            for run in self.runs
        )

    def headers(self) -> Mapping[int, Headers]:
        """Build the headers of the records that have some, by offset."""
        if not self.runs:
            return self.row_headers
        return {offset: one for run in self.runs for offset, one in run.headers().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRange:
    """Describe requested offsets that are no longer in the log, or are unexpectedly missing.

    Attributes:
        topic_partition: the partition.
        from_offset: the first of them.
        until_offset: one past the last of them.
        reason: the reason, as text.
    """

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int
    reason: str

    @property
    def range_(self) -> OffsetRange:
        """These offsets as a range."""
        return OffsetRange(
            topic_partition=self.topic_partition,
            from_offset=self.from_offset,
            until_offset=self.until_offset,
        )


def parts_of(fetched: FetchedRecords, end_offset: int, part_bytes: int) -> Iterator[RangePart]:
    """Take all records, and split those below an offset into parts.

    Args:
        fetched: the unpacked records; none are left in it.
        end_offset: exclusive end of the parts: records from there on are dropped.
        part_bytes: approximate maximum size of a part's records, uncompressed as in the log. A
            single record is never split.
    """
    taken = fetched.take(len(fetched))
    all_runs, all_rows, row_headers = _parted(taken)
    runs = _no_larger(_runs_below(all_runs, end_offset), part_bytes)
    rows = all_rows[: bisect_left(all_rows, end_offset, key=_offset_of)]
    first_row_offset = rows[0][0] if rows else end_offset
    for start, stop in _groups([run.size_bytes for run in runs], part_bytes):
        next_offset = runs[stop].first_offset if stop < len(runs) else first_row_offset
        yield RangePart(runs=runs[start:stop], next_offset=next_offset)
    for start, stop in _groups([_row_bytes(row) for row in rows], part_bytes):
        next_offset = rows[stop][0] if stop < len(rows) else end_offset
        yield RangePart(rows=rows[start:stop], next_offset=next_offset, row_headers=row_headers)


def _parted(taken: RecordSlice) -> "tuple[list[_core.Run], list[Row], Mapping[int, Headers]]":
    """Return runs, the rows after them, and the headers of the rows by offset."""
    runs: list[Any] = []
    rows: list[Row] = []
    for part in taken.parts():
        if isinstance(part, list):
            rows += part
        else:
            runs.append(part)
    if not rows:
        return runs, rows, {}
    before = len(taken) - len(rows)
    headers = {rows[at - before][0]: one for at, one in taken.headers().items() if at >= before}
    return runs, rows, headers


def _no_larger(runs: "list[_core.Run]", most_bytes: int) -> "list[_core.Run]":
    """Split runs into runs of at most ``most_bytes``, or of one record."""
    cut: list[_core.Run] = []
    for run in runs:
        while run.size_bytes > most_bytes and len(run) > 1:
            cut.append(run.split(most_bytes))
        cut.append(run)
    return cut


def _groups(sizes: list[int], most_bytes: int) -> Iterator[tuple[int, int]]:
    """Group neighbours that together take at most ``most_bytes``, at least one per group."""
    start, total = 0, 0
    for at, size in enumerate(sizes):
        if at > start and total + size > most_bytes:
            yield start, at
            start, total = at, 0
        total += size
    if sizes:
        yield start, len(sizes)


def _runs_below(runs: "Sequence[_core.Run]", end_offset: int) -> "list[_core.Run]":
    kept = [run for run in runs if run.last_offset < end_offset]
    rest = next((run for run in runs if run.first_offset < end_offset <= run.last_offset), None)
    if rest is not None:
        count = end_offset - rest.first_offset
        if rest.last_offset - rest.first_offset + 1 != len(rest):
            # Compacted: only the records show how many are below the offset.
            count = bisect_left(rest.records(), end_offset, key=_offset_of)
        kept.append(rest.split(sys.maxsize, count))
    return kept


def _offset_of(row: Row) -> int:
    return row[0]


def _row_bytes(row: Row) -> int:
    return _ENTRY_BYTES + len(row[1] or b"") + len(row[2] or b"")
