"""What reading a range comes to: parts with records, and stretches that are lost. Pure.

Records stay as the engine found them, as runs (native) or as plain rows, so that Arrow columns can
be made of them without a Python object for each. That is so for sets of any magic.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zkconsumer.model import OffsetRange, Record, TopicPartition
from zkconsumer.records.rows import Headers, Row, made
from zkconsumer.records.slices import FetchedRecords, RecordSlice

if TYPE_CHECKING:
    from zkconsumer.native import _core

_ENTRY_BYTES = 26
"""What a record of magic 0 takes in the log besides key and value."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RangePart:
    """Records of a range, in log order; it has runs or rows, never both, and never nothing.

    Attributes:
        runs: the records, of the native engine.
        rows: the records, of the engine in Python.
        next_offset: where the part behind it goes on; at most the end of the range.
        row_headers: those of rows, by offset; perhaps of rows of other parts, too.
    """

    runs: "Sequence[_core.Run]" = ()
    rows: Sequence[Row] = ()
    next_offset: int
    row_headers: Mapping[int, Headers] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.runs)) + len(self.rows)

    def records(self) -> list[Record]:
        """Make all its records."""
        records = made(self.rows)
        for run in self.runs:
            records += run.records()
        return records

    def headers(self) -> Mapping[int, Headers]:
        """Make the headers of the records that have some, by offset."""
        if not self.runs:
            return self.row_headers
        return {offset: one for run in self.runs for offset, one in run.headers().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRange:
    """Offsets that were asked for and are not in the log (any more, or after all).

    Attributes:
        topic_partition: the partition.
        from_offset: the first of them.
        until_offset: one past the last of them.
        log_start_offset: where the log begins, or -1 where that was not asked.
        reason: for people.
    """

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int
    log_start_offset: int
    reason: str

    @property
    def range_(self) -> OffsetRange:
        """The same as a range."""
        return OffsetRange(
            topic_partition=self.topic_partition,
            from_offset=self.from_offset,
            until_offset=self.until_offset,
        )


def parts_of(fetched: FetchedRecords, end_offset: int, part_bytes: int) -> Iterator[RangePart]:
    """Take all records, and cut those below an offset into parts.

    Args:
        fetched: what was unpacked; nothing is left of it.
        end_offset: how far the parts go: what lies above is dropped.
        part_bytes: about how much the records of a part may take, as they would lie in the log
            uncompressed. A single record is never parted.
    """
    taken = fetched.take(len(fetched))
    all_runs, all_rows, row_headers = _parted(taken)
    runs = _no_larger(_runs_below(all_runs, end_offset), part_bytes)
    rows = all_rows[: bisect_left(all_rows, end_offset, key=_offset_of)]
    behind = rows[0][0] if rows else end_offset
    for start, stop in _groups([run.size_bytes for run in runs], part_bytes):
        next_offset = runs[stop].first_offset if stop < len(runs) else behind
        yield RangePart(runs=runs[start:stop], next_offset=next_offset)
    for start, stop in _groups([_row_bytes(row) for row in rows], part_bytes):
        next_offset = rows[stop][0] if stop < len(rows) else end_offset
        yield RangePart(rows=rows[start:stop], next_offset=next_offset, row_headers=row_headers)


def _parted(taken: RecordSlice) -> "tuple[list[_core.Run], list[Row], Mapping[int, Headers]]":
    """Runs, the rows behind them, and the headers of these by offset."""
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
    """The same, none of them larger than that, if it has more than one record."""
    cut: list[_core.Run] = []
    for run in runs:
        while run.size_bytes > most_bytes and len(run) > 1:
            cut.append(run.split(most_bytes))
        cut.append(run)
    return cut


def _groups(sizes: list[int], most_bytes: int) -> Iterator[tuple[int, int]]:
    """Neighbours that together take at most so much, one at least."""
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
            # Compacted: how many there are below, only they can tell.
            count = bisect_left(rest.records(), end_offset, key=_offset_of)
        kept.append(rest.split(sys.maxsize, count))
    return kept


def _offset_of(row: Row) -> int:
    return row[0]


def _row_bytes(row: Row) -> int:
    return _ENTRY_BYTES + len(row[1] or b"") + len(row[2] or b"")
