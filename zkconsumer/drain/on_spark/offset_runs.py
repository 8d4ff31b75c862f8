"""Finds the offset runs of a data frame in its tasks, without sorting all rows.

Messages lie in the order of their offsets. While offsets and rows both go up by one, their
difference stays the same; so each task groups thousands of neighbouring rows into one run, before
the shuffle. Only runs are sorted and sent to the driver, piece by piece.

Rows of several topic-partitions may be interleaved. If there happen to be as many rows of others as
a hole has offsets, the group spans the hole. Such a group has fewer rows than offsets, and only
then are its rows sorted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import expr, lit, monotonically_increasing_id, row_number

from zkconsumer.drain.proving.coverage import Run
from zkconsumer.model import TopicPartition

_PARTITION = ("topic", "partition")


def found_runs(messages: DataFrame) -> Iterator[tuple[TopicPartition, Iterator[Run]]]:
    """Yield the offsets of every topic-partition, as sorted runs.

    Args:
        messages: rows with the columns topic, partition and offset; rows without an offset are
            ignored.

    Returns:
        Topic-partitions in order; consume the runs of each before the next topic-partition.
    """
    with runs_by(messages, *_PARTITION) as runs:
        ordered = runs.orderBy(*_PARTITION, "from_offset").toLocalIterator()
        for key, rows in groupby(ordered, key=lambda row: (row.topic, row.partition)):
            yield TopicPartition(*key), (Run(row.from_offset, row.until_offset) for row in rows)


@contextmanager
def runs_by(messages: DataFrame, *keys: str) -> Iterator[DataFrame]:
    """Find runs of the column offset among rows with the same keys.

    Args:
        messages: rows with the column offset and the keys, mostly in the order of their offsets,
            which only matters for speed.
        keys: names of columns.

    Returns:
        Runs with the keys, from_offset and until_offset, in any order; valid until the context
        ends. Each row of the messages is in one run.
    """
    rows = messages.select(*keys, "offset").where("offset IS NOT NULL")
    numbered = rows.withColumn("run", rows["offset"] - monotonically_increasing_id())
    # Cached, so that searching for holes does not read all messages again.
    grouped = _spans(numbered, *keys, "run").persist()
    try:
        runs = grouped
        holes = grouped.where("rows <> until_offset - from_offset").select(*keys).distinct()
        if not holes.isEmpty():
            again = _sorted_runs(rows.join(holes, [*keys], "left_semi"), *keys)
            runs = grouped.join(holes, [*keys], "left_anti").unionByName(again)
        yield runs.select(*keys, "from_offset", "until_offset")
    finally:
        grouped.unpersist()


def _sorted_runs(rows: DataFrame, *keys: str) -> DataFrame:
    """Sort unordered rows into runs; each copy of an offset is in its own run."""
    copies = Window.partitionBy(*keys, "offset").orderBy(lit(1))
    counted = rows.withColumn("copy", row_number().over(copies))
    order = Window.partitionBy(*keys, "copy").orderBy("offset")
    numbered = counted.withColumn("run", counted["offset"] - row_number().over(order))
    return _spans(numbered, *keys, "copy", "run")


def _spans(rows: DataFrame, *groups: str) -> DataFrame:
    spans = ("min(offset) from_offset", "max(offset) + 1 until_offset", "count(1) rows")
    return rows.groupBy(*groups).agg(*map(expr, spans)).drop("run", "copy")
