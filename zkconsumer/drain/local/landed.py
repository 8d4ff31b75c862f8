"""Reads landed rows in this process, and compares them with the cluster.

Both sides are summed up in blocks of offsets; only blocks whose sums differ are then compared
message by message, a few at a time.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from zkconsumer.drain.checksum import Contents
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.local import formats
from zkconsumer.drain.local.columns import row_hashes
from zkconsumer.drain.local.data_files import DataFiles
from zkconsumer.drain.local.memory import Shares
from zkconsumer.drain.local.reading import LocalRangeRows, Piece
from zkconsumer.drain.local.sums import RowSums, grouped, with_coordinates
from zkconsumer.drain.local.workers import Cancellation, in_threads
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.drain.proving.proof import BLOCK, Difference, Differing
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.options import source_options

log = logging.getLogger(__name__)

R = TypeVar("R")

_BLOCKS_AT_ONCE = 8
_DAMAGE = (
    *(pa.ArrowException, OSError, ValueError, LookupError),
    *(TypeError, AttributeError, OverflowError, RecursionError),
)
"""The exceptions that reading a file with arbitrary content may raise."""
_Ranges = Mapping[TopicPartition, Run]


class Block(NamedTuple):
    """``BLOCK`` consecutive offsets of a partition."""

    topic_partition: TopicPartition
    number: int

    @property
    def run(self) -> Run:
        """The offsets of the block."""
        return Run(self.number * BLOCK, (self.number + 1) * BLOCK)


_Sums = dict[Block, Contents]


class LocalRows:
    """Reads landed rows in this process. See ``LandedRows``.

    Args:
        files: opens the landed files.
        paths: the paths of files to read, in folders ``topic=T/date=D``.
        file_format: ``parquet`` or ``json``.
    """

    def __init__(
        self, files: DataFiles, paths: Sequence[str], file_format: str, shares: Shares
    ) -> None:
        self._files = files
        self._paths = list(paths)
        self._format = file_format
        self._shares = shares

    def unplaced(self) -> int:
        """See ``LandedRows``."""
        return self._tally.unplaced

    def contents(self) -> dict[TopicPartition, Contents]:
        """See ``LandedRows``."""
        return self._tally.contents

    def runs(self) -> Iterator[tuple[TopicPartition, Iterator[Run]]]:
        """See ``LandedRows``."""
        tally = self._tally
        return ((tp, tally.runs(tp)) for tp in tally.partitions())

    def differences(
        self, options: Mapping[str, str], ranges: _Ranges
    ) -> dict[TopicPartition, dict[Difference, Differing]]:
        """See ``LandedRows``."""
        everything = {**options, "subscribePattern": ".*", "failOnDataLoss": "false"}
        cluster = LocalRangeRows(source_options(everything), self._shares)
        ours: _Sums = {}
        files_of: dict[Block, set[str]] = {}
        for path, sums in self._each(lambda path, shared: (path, self._sums(path, ranges, shared))):
            _merge(ours, sums)
            for block in sums:
                files_of.setdefault(block, set()).add(path)
        theirs: _Sums = {}
        for sums in cluster.each(_offset_ranges(ranges), _sums_of):
            _merge(theirs, sums)
        both = sorted(ours.keys() | theirs.keys())
        differing = [block for block in both if ours.get(block) != theirs.get(block)]
        found: dict[TopicPartition, dict[Difference, Differing]] = {}
        for at in range(0, len(differing), _BLOCKS_AT_ONCE):
            blocks = differing[at : at + _BLOCKS_AT_ONCE]
            paths = {path for block in blocks for path in files_of.get(block, ())}
            self._compare(blocks, sorted(paths), (cluster, ranges), found)
        return found

    @cached_property
    def _tally(self) -> RowSums:
        found = RowSums()
        for tally in self._each(self._count):
            found.merge(tally)
        return found

    def _count(self, path: str, shared: Cancellation) -> RowSums:
        found = RowSums()
        for rows in self._read(path, shared):
            found.add(_topic(path), rows)
        return found

    def _sums(self, path: str, ranges: _Ranges, shared: Cancellation) -> _Sums:
        found: _Sums = {}
        for rows in self._read(path, shared):
            _merge(found, _block_sums(_topic(path), _within(_topic(path), rows, ranges)))
        return found

    def _compare(
        self,
        blocks: Sequence[Block],
        paths: Sequence[str],
        cluster: tuple[LocalRangeRows, _Ranges],
        found: dict[TopicPartition, dict[Difference, Differing]],
    ) -> None:
        """Add the differing messages of some blocks to ``found``, by kind of difference."""
        rows, ranges = cluster
        ours: dict[Block, list[pa.Table]] = {}
        for path in paths:
            for batch in self._read(path, Cancellation()):
                inside = _within(_topic(path), batch, ranges)
                for block, some in _parted(_topic(path), inside, blocks):
                    ours.setdefault(block, []).append(_hashed(some, "ours"))
        for block in blocks:
            span, limit = block.run, ranges[block.topic_partition]
            run = Run(max(span.from_offset, limit.from_offset), min(span[1], limit[1]))
            wanted = _offset_ranges({block.topic_partition: run})
            theirs = [table for tables in rows.each(wanted, _hashes_of) for table in tables]
            of_partition = found.setdefault(block.topic_partition, {})
            for kind, differing in _differing(ours.get(block, []), theirs).items():
                of_partition[kind] = _together(of_partition.get(kind), differing)

    def _each(self, job: Callable[[str, Cancellation], R]) -> Iterator[R]:
        return in_threads(job, self._paths, threads=self._shares.threads, name="verify")

    def _read(self, path: str, shared: Cancellation) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file, up to any damage."""
        self._files.input(path).close()
        try:
            for rows in formats.read(self._files, path, self._format):
                shared.check()
                yield rows
        except _DAMAGE as error:
            log.warning("%s can't be read, what it held counts as missing: %s", path, error)


def _topic(path: str) -> str:
    below = path.removeprefix("data/").removeprefix(f"{DEAD_LETTERS}/")
    return unquote(below.split("/", 1)[0].removeprefix("topic="))


def _offset_ranges(ranges: _Ranges) -> list[OffsetRange]:
    return [
        OffsetRange(tp, run.from_offset, run.until_offset) for tp, run in sorted(ranges.items())
    ]


def _merge(sums: _Sums, more: _Sums) -> None:
    for block, contents in more.items():
        sums[block] = sums.get(block, Contents()) + contents


def _within(topic: str, rows: pa.RecordBatch, ranges: _Ranges) -> pa.RecordBatch:
    """Return the rows of a topic within the ranges to compare."""
    placed = with_coordinates(rows)
    wanted = pa.repeat(pa.scalar(value=False), len(placed))
    for partition in pc.unique(placed.column("partition")).to_pylist():
        run = ranges.get(TopicPartition(topic, partition))
        if run is not None:
            wanted = pc.or_(wanted, _inside(placed, partition, run))
    return placed.filter(wanted)


def _inside(rows: pa.RecordBatch, partition: int, run: Run) -> pa.Array:
    """Return a mask of the rows of a partition with offsets in a run."""
    offsets = rows.column("offset")
    inside = pc.and_(pc.greater_equal(offsets, run.from_offset), pc.less(offsets, run.until_offset))
    return pc.and_(inside, pc.equal(rows.column("partition"), partition))


def _block_sums(topic: str, rows: pa.RecordBatch) -> _Sums:
    if not len(rows):
        return {}
    numbers = pc.divide(rows.column("offset"), BLOCK)
    return {
        Block(TopicPartition(topic, partition), number): contents
        for (partition, number), contents in grouped(
            rows, rows.column("partition"), numbers
        ).items()
    }


def _sums_of(piece: Piece, shared: Cancellation) -> _Sums:
    found: _Sums = {}
    for rows in piece.rows():
        shared.check()
        _merge(found, _block_sums(piece.topic, rows))
    return found


def _hashes_of(piece: Piece, shared: Cancellation) -> list[pa.Table]:
    found = []
    for rows in piece.rows():
        shared.check()
        bare = row_hashes(rows, with_time=False)
        found.append(_hashed(rows, "theirs").append_column("bare", bare))
    return found


def _hashed(rows: pa.RecordBatch, name: str) -> pa.Table:
    return pa.table({"offset": rows.column("offset"), name: row_hashes(rows)})


def _parted(
    topic: str, rows: pa.RecordBatch, blocks: Sequence[Block]
) -> Iterator[tuple[Block, pa.RecordBatch]]:
    """Split rows by these blocks."""
    for block in blocks:
        tp = block.topic_partition
        if tp.topic == topic:
            some = rows.filter(_inside(rows, tp.partition, block.run))
            if len(some):
                yield block, some


_OURS = pa.schema([("offset", pa.int64()), ("ours", pa.int64())])
_THEIRS = pa.schema([("offset", pa.int64()), ("theirs", pa.int64()), ("bare", pa.int64())])


def _differing(ours: Sequence[pa.Table], theirs: Sequence[pa.Table]) -> dict[Difference, Differing]:
    here = pa.concat_tables([_OURS.empty_table(), *ours])
    there = pa.concat_tables([_THEIRS.empty_table(), *theirs])
    both = here.join(there, "offset", join_type="full outer", use_threads=False)
    mine, its, bare = both.column("ours"), both.column("theirs"), both.column("bare")
    unlike = pc.and_(pc.not_equal(mine, its), pc.not_equal(mine, bare))
    kinds = {
        Difference.ONLY_IN_CLUSTER: pc.is_null(mine),
        Difference.ONLY_LANDED: pc.is_null(its),
        Difference.CONTENT: pc.fill_null(unlike, fill_value=False),
    }
    found = {}
    for kind, mask in kinds.items():
        offsets = both.column("offset").filter(mask)
        if len(offsets):
            bounds = pc.min_max(offsets).as_py()
            found[kind] = Differing(len(offsets), bounds["min"], bounds["max"])
    return found


def _together(known: Differing | None, other: Differing) -> Differing:
    if known is None:
        return other
    return Differing(
        known.count + other.count,
        min(known.first_offset, other.first_offset),
        max(known.last_offset, other.last_offset),
    )
