"""Reads a plan's ranges in this process, writes them as files, and counts the rows."""

import threading
from dataclasses import replace
from functools import partial

import pyarrow as pa

from zkconsumer.drain.engine import Ends
from zkconsumer.drain.holes import PartitionRuns, Ranges, absences
from zkconsumer.drain.landing_files import WrittenRows
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.local import formats
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.dated_files import DatedFiles, FileColumns, FileNaming
from zkconsumer.drain.local.decoded import RowDecoder
from zkconsumer.drain.local.errors import described_by_arrow
from zkconsumer.drain.local.reading import LocalRangeRows, Piece
from zkconsumer.drain.local.sums import RowSums
from zkconsumer.drain.local.workers import Cancellation
from zkconsumer.drain.manifest import landed_parts
from zkconsumer.drain.plan import BatchPlan


class LocalWriter:
    """Writes files in this process. See ``RowWriter``.

    Args:
        file_format: ``parquet`` or ``json``.
        decoder: adds columns, and finds dead letters; None: rows are landed unchanged.
        file_columns: returns the columns of a table's files; None if there is no table.
    """

    def __init__(
        self,
        rows: LocalRangeRows,
        files: DataFiles,
        ends: Ends,
        file_format: str,
        decoder: RowDecoder | None = None,
        file_columns: FileColumns | None = None,
    ) -> None:
        self._rows = rows
        self._files = files
        self._ends = ends
        self._format = file_format
        self._decoder = decoder
        self._file_columns = file_columns

    def write(self, plan: BatchPlan, folder: str) -> WrittenRows:
        """See ``RowWriter``."""
        landed, dead = RowSums(), RowSums()
        written: list[str] = []
        naming = FileNaming(
            folder=folder,
            file_format=self._format,
            created_ms=plan.created_ms,
            file_columns=_once(self._file_columns),
        )
        with described_by_arrow(f"batch {plan.number}"):
            jobs = self._rows.each(
                plan.ranges, lambda piece, shared: self._piece(naming, piece, shared)
            )
            for tally, letters, paths in jobs:
                landed.merge(tally)
                dead.merge(letters)
                written += (path.removeprefix(f"{folder}/") for path in paths)
            readings = (partial(_runs_of, landed), self._runs_again)
            absent = absences(plan.ranges, landed.contents, readings, self._ends)
        return WrittenRows(landed_parts(plan, landed.contents, absent, dead.contents), written)

    def _piece(
        self, naming: FileNaming, piece: Piece, shared: Cancellation
    ) -> tuple[RowSums, RowSums, list[str]]:
        """Land a piece; return its landed rows, dead letters, and the paths of all files."""
        naming = replace(naming, topic=piece.topic, task=piece.number)
        dated = DatedFiles(self._files, naming, self._rows.shares)
        below = replace(naming, folder=f"{naming.folder}/{DEAD_LETTERS}", file_columns=None)
        letters = DatedFiles(self._files, below, self._rows.shares.halved())
        for rows in piece.rows():
            shared.check()
            if self._decoder is None:
                dated.write(rows)
                continue
            for decoded in self._decoder.decode(rows):
                shared.check()
                if len(decoded.landed):
                    dated.write(decoded.landed)
                if len(decoded.dead):
                    letters.write(decoded.dead)
        paths, dead_paths = dated.close(), letters.close()
        landed = self._counted(piece.topic, paths, shared)
        dead = self._counted(piece.topic, dead_paths, shared)
        landed.merge(dead)
        return landed, dead, [*paths, *dead_paths]

    def _counted(self, topic: str, paths: list[str], shared: Cancellation) -> RowSums:
        """Count the written rows by reading the files."""
        found = RowSums()
        for path in paths:
            for rows in formats.read(self._files, path, self._format):
                shared.check()
                found.add(topic, rows)
        return found

    def _runs_again(self, doubtful: Ranges) -> PartitionRuns:
        again = RowSums()
        for tally in self._rows.each(list(doubtful.values()), _count):
            again.merge(tally)
        return _runs_of(again, doubtful)


def _once(file_columns: FileColumns | None) -> FileColumns | None:
    """Cache a function by columns. Thread: any."""
    if file_columns is None:
        return None
    known: dict[pa.Schema, pa.Schema] = {}
    lock = threading.Lock()

    def remembered(columns: pa.Schema) -> pa.Schema:
        with lock:
            if columns not in known:
                known[columns] = file_columns(columns)
            return known[columns]

    return remembered


def _runs_of(tally: RowSums, wanted: Ranges) -> PartitionRuns:
    return ((tp, tally.runs(tp)) for tp in wanted)


def _count(piece: Piece, shared: Cancellation) -> RowSums:
    """Count the rows of a piece."""
    found = RowSums()
    for rows in piece.rows():
        shared.check()
        found.add(piece.topic, rows)
    return found
