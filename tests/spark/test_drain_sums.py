"""Runs and checksums that Spark computes are equal to those of counting row by row."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from zkconsumer.drain.checksum import Checksum
from zkconsumer.drain.on_spark.landed import SCHEMA, _differences
from zkconsumer.drain.on_spark.offset_runs import found_runs
from zkconsumer.drain.on_spark.sums import contents_by_partition
from zkconsumer.drain.proving.proof import Difference, Differing
from zkconsumer.model import TopicPartition
from zkconsumer.spark.plain_rows import plain_rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

_SCHEMA = (
    "topic string, partition int, offset bigint, key binary, value binary, timestamp timestamp, "
    "timestampType int"
)
_Row = tuple[str, int, int | None, bytes | None, bytes | None, datetime | None, int]


def _row(
    offset: int | None,
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    *,
    partition: int = 0,
    time: datetime | None = None,
) -> _Row:
    return ("clicks", partition, offset, key, value, time, -1 if time is None else 0)


def _frame(spark: SparkSession, rows: Sequence[_Row], tasks: int = 1) -> DataFrame:
    context = spark.sparkContext
    return spark.createDataFrame(context.parallelize(rows, tasks), _SCHEMA)


def _offsets(messages: DataFrame) -> dict[int, list[int]]:
    return {
        tp.partition: sorted(offset for run in runs for offset in range(*run))
        for tp, runs in found_runs(messages)
    }


def test_plain_rows_returns_the_given_rows(spark: SparkSession) -> None:
    """Texts may have any characters, numbers may be the largest; no rows are possible, too."""
    rows = [("\"'\\ é\n${}", 1, 2**63 - 1), (None, -1, None)]
    frame = plain_rows(spark, rows, "topic string, partition int, offset bigint")
    assert list(map(tuple, frame.collect())) == rows
    names = [column.split()[0] for column in SCHEMA.split(", ")]
    assert plain_rows(spark, (), SCHEMA).columns == names
    assert plain_rows(spark, (), SCHEMA).collect() == []


def test_runs_cover_exactly_the_offsets_of_the_rows(spark: SparkSession) -> None:
    """Rows are ordered, mixed with other partitions' rows, repeated, and shuffled."""
    chance = random.Random(7)
    ordered = [_row(offset) for offset in range(50) if offset not in {7, 8, 30}]
    mixed = [_row(at, partition=1 + at // 5 % 2) for at in range(60)]
    wild = [_row(chance.randrange(40), partition=3) for _ in range(80)]
    rows = [*ordered, *mixed, *wild, _row(None, partition=3)]
    wanted: dict[int, list[int]] = {}
    for _, partition, offset, *_ in rows:
        if offset is not None:
            wanted.setdefault(partition, []).append(offset)
    found = _offsets(_frame(spark, rows, tasks=2))
    assert found == {partition: sorted(offsets) for partition, offsets in wanted.items()}


def test_neighbouring_rows_are_one_run(spark: SparkSession) -> None:
    """The driver gets a few numbers, not a row for each message."""
    messages = _frame(spark, [_row(offset) for offset in range(1000)])
    ((_, runs),) = ((tp, list(runs)) for tp, runs in found_runs(messages))
    assert runs == [(0, 1000)]


def test_contents_do_not_depend_on_order_or_tasks(spark: SparkSession) -> None:
    """The same messages in any files have the same sum."""
    rows = [_row(at, b"k%d" % at, b"v" * at, partition=at % 2) for at in range(40)]
    once = contents_by_partition(_frame(spark, rows))
    again = contents_by_partition(_frame(spark, rows[::-1], tasks=3))
    assert once == again
    contents = once[TopicPartition("clicks", 1)]
    assert (contents.rows, contents.first_offset, contents.last_offset) == (20, 1, 39)


def test_every_part_of_a_message_counts(spark: SparkSession) -> None:
    """Null is not empty, a key is not a value, and offset and time belong to the message."""
    time = datetime(2026, 1, 1, tzinfo=UTC)
    shapes = [
        _row(1, None, b"a"),
        _row(1, b"a", None),
        _row(1, b"", b"a"),
        _row(1, None, None),
        _row(1, None, b""),
        _row(1, b"", b""),
        _row(2, None, b"a"),
        _row(1, None, b"a", time=time),
        _row(1, None, b"a", time=time.replace(second=1)),
    ]
    numbered = [(*shape[:1], number, *shape[2:]) for number, shape in enumerate(shapes)]
    found = contents_by_partition(_frame(spark, numbered))
    checksums = {contents.checksum for contents in found.values()}
    assert len(checksums) == len(shapes)
    assert Checksum(0) not in checksums


def test_rows_without_a_time_are_compared_without_it(spark: SparkSession) -> None:
    """A different time is a difference, and so is anything else."""
    when, other = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    cluster = [_row(offset, time=when) for offset in range(4)] + [_row(4)]
    landed = [
        _row(0, time=when),
        _row(1),
        _row(2, value=b"w"),
        _row(3, time=other),
        _row(4, time=when),
    ]
    ours, theirs = _frame(spark, landed), _frame(spark, cluster)
    found = _differences(ours, theirs, [("clicks", 0, 0)])
    (reported,) = found[TopicPartition("clicks", 0)].items()
    assert reported == (Difference.CONTENT, Differing(3, 2, 4))
