"""Which offsets a data frame holds, as runs: found where the rows lie, not by sorting the rows.

Messages lie in the order of their offsets. While offsets and rows both go up by one, their
difference stays the same; so each task turns thousands of neighbouring rows into one run by
grouping, before anything is moved. Only runs are sorted and come to the driver, piece by piece.

Rows of several topic-partitions may lie mixed. Then a stretch of others' rows may be as long as a
hole in the offsets, and the group spans the hole. Such a group has fewer rows than offsets, and
only then are its rows sorted.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from zkconsumer.drain.coverage import Run
from zkconsumer.model import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GROUPED = """
    SELECT topic, partition,
        min(offset) AS from_offset, max(offset) + 1 AS until_offset, count(1) AS rows
    FROM (
        SELECT *, offset - monotonically_increasing_id() AS run
        FROM {keys} WHERE offset IS NOT NULL)
    GROUP BY topic, partition, run"""
_SORTED = """
    SELECT topic, partition,
        min(offset) AS from_offset, max(offset) + 1 AS until_offset, count(1) AS rows
    FROM (
        SELECT *,
            offset - row_number() OVER (PARTITION BY topic, partition, copy ORDER BY offset) AS run
        FROM (
            SELECT *, row_number() OVER (PARTITION BY topic, partition, offset ORDER BY 1) AS copy
            FROM {keys} LEFT SEMI JOIN {mixed} USING (topic, partition)
            WHERE offset IS NOT NULL))
    GROUP BY topic, partition, copy, run"""


def found_runs(messages: "DataFrame") -> Iterator[tuple[TopicPartition, Iterator[Run]]]:
    """The offsets of every topic-partition, as sorted runs.

    Args:
        messages: with the columns topic, partition and offset; rows without an offset are left
            out.

    Returns:
        Topic-partitions in order; the runs of each must be taken before going on to the next.
    """
    session = messages.sparkSession
    keys = messages.select("topic", "partition", "offset")
    grouped = session.sql(_GROUPED, keys=keys)
    holes = "rows <> until_offset - from_offset"
    if not grouped.where(holes).isEmpty():
        mixed = grouped.where(holes).select("topic", "partition").distinct()
        whole = grouped.join(mixed, ["topic", "partition"], "left_anti")
        grouped = whole.unionByName(session.sql(_SORTED, keys=keys, mixed=mixed))
    ordered = grouped.orderBy("topic", "partition", "from_offset").toLocalIterator()
    for (topic, partition), rows in groupby(ordered, key=lambda row: (row.topic, row.partition)):
        found = (Run(row.from_offset, row.until_offset) for row in rows)
        yield TopicPartition(topic, partition), found
