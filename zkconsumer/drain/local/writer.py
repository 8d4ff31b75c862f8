"""Reads a plan's ranges in this process, writes them as files, and counts what was written."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.engine import Ends
from zkconsumer.drain.holes import absences
from zkconsumer.drain.local import formats
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileNaming
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.reading import LocalRangeRows, Piece
from zkconsumer.drain.local.sums import RowSums
from zkconsumer.drain.local.workers import Cancellation
from zkconsumer.drain.manifest import LandedPart
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.model import OffsetRange, TopicPartition


class _Place(NamedTuple):
    """Where the files of a batch go, and what is in them."""

    folder: str
    created_ms: int
    columns: pa.Schema | None


_PartitionRuns = Iterable[tuple[TopicPartition, Iterable[Run]]]


class LocalWriter:
    """See ``RowWriter``.

    Args:
        rows: reads the ranges.
        files: where files are written.
        shares: of the memory.
        ends: asks the cluster where logs begin and end.
        file_format: ``parquet`` or ``json``.
        columns: gives those of a table's files, when files are to be written; None where there is
            no table.
    """

    def __init__(
        self,
        rows: LocalRangeRows,
        files: DataFiles,
        shares: Shares,
        ends: Ends,
        file_format: str,
        *,
        columns: Callable[[], pa.Schema] | None = None,
    ) -> None:
        self._rows = rows
        self._files = files
        self._shares = shares
        self._ends = ends
        self._format = file_format
        self._columns = columns

    def write(self, plan: BatchPlan, folder: str) -> tuple[LandedPart, ...]:
        """See ``RowWriter``."""
        landed = RowSums()
        columns = None if self._columns is None else self._columns()
        place = _Place(folder, plan.created_ms, columns)
        with described_by_arrow(f"batch {plan.number}"):
            jobs = self._rows.each(
                plan.ranges, lambda piece, shared: self._piece(place, piece, shared)
            )
            for tally in jobs:
                landed.merge(tally)
            readings = (partial(_runs_of, landed), self._runs_again)
            absent = absences(plan.ranges, landed.contents, readings, self._ends)
        return tuple(
            LandedPart(
                offsets=wanted,
                contents=landed.contents.get(wanted.topic_partition, Contents()),
                absent=absent.get(wanted.topic_partition, ()),
            )
            for wanted in plan.ranges
        )

    def _piece(self, place: _Place, piece: Piece, shared: Cancellation) -> RowSums:
        naming = FileNaming(
            folder=place.folder,
            topic=piece.topic,
            task=piece.number,
            file_format=self._format,
            created_ms=place.created_ms,
            columns=place.columns,
        )
        dated = DatedFiles(self._files, naming, self._shares)
        for rows in piece.rows():
            shared.check()
            dated.write(rows)
        landed = RowSums()
        for path in dated.close():
            for rows in formats.read(self._files, path, self._format):
                shared.check()
                landed.add(piece.topic, rows)
        return landed

    def _runs_again(self, doubtful: Mapping[TopicPartition, OffsetRange]) -> _PartitionRuns:
        again = RowSums()
        for tally in self._rows.each(list(doubtful.values()), _count):
            again.merge(tally)
        return _runs_of(again, doubtful)


def _runs_of(tally: RowSums, wanted: Mapping[TopicPartition, OffsetRange]) -> _PartitionRuns:
    return ((tp, tally.runs(tp)) for tp in wanted)


def _count(piece: Piece, shared: Cancellation) -> RowSums:
    """What is there of a piece."""
    found = RowSums()
    for rows in piece.rows():
        shared.check()
        found.add(piece.topic, rows)
    return found
