"""Sums up rows and collects their offsets, without retaining the rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.local.columns import row_hashes
from zkconsumer.drain.proving.coverage import Run
from zkconsumer.model import TopicPartition

_AT_ONCE = 1 << 14
_Bounds = tuple[pa.Array, pa.Array]


@dataclass(slots=True)
class RowSums:
    """Accumulates checksums and offset runs of rows. Thread: one at a time.

    A run takes 16 bytes; neighbouring rows with consecutive offsets share a run.
    """

    contents: dict[TopicPartition, Contents] = field(default_factory=dict)
    unplaced: int = 0
    bounds: dict[TopicPartition, list[_Bounds]] = field(default_factory=dict)

    def add(self, topic: str, rows: pa.RecordBatch) -> None:
        """Add rows of a topic, in the order of the file.

        Args:
            topic: the topic's name.
            rows: rows with the columns of ``columns.SCHEMA``.
        """
        complete = with_coordinates(rows)
        self.unplaced += len(rows) - len(complete)
        for (partition,), found in grouped(complete, complete.column("partition")).items():
            tp = TopicPartition(topic, partition)
            self.contents[tp] = self.contents.get(tp, Contents()) + found
        for partition, offsets in _by_partition(complete):
            self.bounds.setdefault(TopicPartition(topic, partition), []).append(_bounds(offsets))

    def merge(self, other: "RowSums") -> None:
        """Add the sums and runs of another object."""
        self.unplaced += other.unplaced
        for tp, contents in other.contents.items():
            self.contents[tp] = self.contents.get(tp, Contents()) + contents
        for tp, bounds in other.bounds.items():
            self.bounds.setdefault(tp, []).extend(bounds)

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions with rows, sorted."""
        return sorted(self.bounds)

    def runs(self, tp: TopicPartition) -> Iterator[Run]:
        """Return the offsets of a partition, as sorted runs."""
        bounds = self.bounds.get(tp)
        if not bounds:
            return
        table = pa.table(
            {
                "begin": pa.chunked_array([starts for starts, _ in bounds]),
                "end": pa.chunked_array([ends for _, ends in bounds]),
            }
        ).sort_by("begin")
        for some in table.to_batches(max_chunksize=_AT_ONCE):
            yield from map(Run, some.column(0).to_pylist(), some.column(1).to_pylist())


def with_coordinates(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows that have a partition and an offset."""
    partitions, offsets = rows.column("partition"), rows.column("offset")
    if not partitions.null_count and not offsets.null_count:
        return rows
    return rows.filter(pc.and_(pc.is_valid(partitions), pc.is_valid(offsets)))


def grouped(rows: pa.RecordBatch, *keys: pa.Array) -> dict[tuple[int, ...], Contents]:
    """Return count, bounds and checksum of each group of rows.

    Args:
        rows: rows that have a partition and an offset.
        keys: the group number of each row.
    """
    names = [f"key{number}" for number in range(len(keys))]
    named = dict(zip(names, keys, strict=True))
    table = pa.table({**named, "offset": rows.column("offset"), "hash": row_hashes(rows)})
    # Sums of int64 wrap, as checksums must.
    sums = table.group_by(names, use_threads=False).aggregate(
        [("offset", "count"), ("offset", "min"), ("offset", "max"), ("hash", "sum")]
    )
    return {
        tuple(row[name] for name in names): Contents(
            rows=row["offset_count"],
            first_offset=row["offset_min"],
            last_offset=row["offset_max"],
            checksum=Checksum(row["hash_sum"]),
        )
        for row in sums.to_pylist()
    }


def _by_partition(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.Array]]:
    partitions, offsets = rows.column("partition"), rows.column("offset")
    which = pc.unique(partitions).to_pylist()
    for partition in which:
        yield (
            partition,
            offsets if len(which) == 1 else offsets.filter(pc.equal(partitions, partition)),
        )


def _bounds(offsets: pa.Array) -> _Bounds:
    """Return the starts and ends of the runs in some offsets, which may be in any order."""
    last = len(offsets) - 1
    steps = pc.subtract(offsets.slice(1), offsets.slice(0, last))
    breaks = pc.indices_nonzero(pc.not_equal(steps, 1)).cast(pa.int64())
    edge = pa.array([0, last], pa.int64())
    starts = pa.concat_arrays([edge.slice(0, 1), pc.add(breaks, 1)])
    ends = pa.concat_arrays([breaks, edge.slice(1)])
    return offsets.take(starts), pc.add(offsets.take(ends), 1)
