"""Checksums and runs of rows equal those of counting row by row."""

import random

import pyarrow as pa

from zkconsumer.drain.checksum import Checksum, Contents
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.sums import RowSums
from zkconsumer.drain.local.xxhash64 import row_hash
from zkconsumer.model import TopicPartition

PartitionOffset = tuple[int | None, int | None]


def rows_at(places: list[PartitionOffset]) -> pa.RecordBatch:
    """Build rows with these partitions and offsets."""
    rows = [
        {"partition": partition, "offset": offset, "value": b"v", "timestampType": -1}
        for partition, offset in places
    ]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def offsets_of(tally: RowSums, partition: int) -> list[int]:
    """Return each offset as often as the runs contain it."""
    runs = tally.runs(TopicPartition("t", partition))
    return [offset for run in runs for offset in range(run.from_offset, run.until_offset)]


def test_runs_hold_exactly_the_offsets_of_the_rows() -> None:
    """Rows may be out of order, repeated, with holes, and in several batches and tallies."""
    chance = random.Random(3)
    ordered: list[PartitionOffset] = [(0, at) for at in range(50) if at not in {7, 8, 30}]
    mixed: list[PartitionOffset] = [(1 + at // 5 % 2, at) for at in range(60)]
    wild: list[PartitionOffset] = [(3, chance.randrange(40)) for _ in range(80)]
    places = [*ordered, *mixed, *wild]
    tally, other = RowSums(), RowSums()
    for at in range(0, len(places), 13):
        (tally if at % 2 else other).add("t", rows_at(places[at : at + 13]))
    tally.merge(other)
    for partition in range(4):
        wanted = sorted(
            offset for number, offset in places if number == partition and offset is not None
        )
        assert sorted(offsets_of(tally, partition)) == wanted
    assert tally.partitions() == [TopicPartition("t", number) for number in range(4)]


def test_runs_are_sorted() -> None:
    """Runs are sorted whatever the order of batches; an unknown partition has none."""
    tally = RowSums()
    tally.add("t", rows_at([(0, at) for at in range(100, 200)]))
    tally.add("t", rows_at([(0, at) for at in range(100)]))
    assert list(tally.runs(TopicPartition("t", 0))) == [(0, 100), (100, 200)]
    assert list(tally.runs(TopicPartition("t", 9))) == []


def test_contents_are_the_sums_of_the_rows() -> None:
    """The checksum is the sum modulo 2**64; rows without partition or offset are counted apart."""
    tally = RowSums()
    tally.add("t", rows_at([(0, at) for at in range(30)]))
    tally.add("t", rows_at([(0, 30), (None, 5), (1, None)]))
    total = sum(row_hash(at, None, b"v", None, -1) for at in range(31))
    assert tally.contents == {
        TopicPartition("t", 0): Contents(
            rows=31, first_offset=0, last_offset=30, checksum=Checksum(total)
        )
    }
    assert tally.unplaced == 2
