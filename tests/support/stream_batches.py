"""Spark's streaming queries in tests: their rows by batch, and a check for exactly once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.traffic import Acknowledged
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition

Found = list[tuple[TopicPartition, int, bytes]]
"""Partition, offset and value of each row."""

COLUMNS = ("topic", "partition", "offset", "value")
_DEADLINE_S = 60


def found_in(frame: DataFrame) -> Found:
    """Return all rows of a frame that has the source's columns."""
    return [
        (TopicPartition(row.topic, row.partition), row.offset, bytes(row.value))
        for row in frame.select(*COLUMNS).collect()
    ]


def ends_of(rows: Found) -> dict[TopicPartition, int]:
    """Return the largest offset plus 1 of every partition."""
    ends: dict[TopicPartition, int] = {}
    for tp, offset, _ in rows:
        ends[tp] = max(ends.get(tp, 0), offset + 1)
    return ends


def assert_all_once(rows: Found, acknowledged: Acknowledged) -> None:
    """Assert that each offset from 0 on is there once, with the value acknowledged for it."""
    offsets: dict[TopicPartition, list[int]] = {}
    for tp, offset, _ in rows:
        offsets.setdefault(tp, []).append(offset)
    for tp, end in ends_of(rows).items():
        assert sorted(offsets[tp]) == list(range(end)), tp
    values = {(tp, offset): value for tp, offset, value in rows}
    missed = {
        (tp, offset)
        for tp, of_tp in acknowledged.items()
        for offset, value in of_tp.items()
        if values.get((tp, offset)) != value
    }
    assert missed == set()


class Batches:
    """The rows given to ``foreachBatch``; a repeated batch replaces its earlier rows.

    Thread: any.
    """

    def __init__(self) -> None:
        self._found: dict[int, Found] = {}

    def take(self, frame: DataFrame, number: int) -> None:
        """Store a batch."""
        self._found[number] = found_in(frame)

    @property
    def found(self) -> Found:
        """All rows so far."""
        return [row for _, rows in sorted(self._found.copy().items()) for row in rows]


@contextmanager
def running(
    spark: SparkSession,
    options: Mapping[str, str],
    batches: Batches,
    checkpoint: str,
    **trigger: Any,
) -> Iterator[StreamingQuery]:
    """Run a query during the context; ``trigger`` is Spark's, by default batch after batch."""
    stream = spark.readStream.format("zkconsumer").options(**options).load()
    query = (
        stream.writeStream.foreachBatch(batches.take)
        .option("checkpointLocation", checkpoint)
        .trigger(**(trigger or {"processingTime": "0 seconds"}))
        .start()
    )
    try:
        yield query
    finally:
        query.stop()


def run_to_end(
    spark: SparkSession, options: Mapping[str, str], batches: Batches, checkpoint: str
) -> None:
    """Run a query over everything that is there now.

    Raises:
        StreamingQueryException: the query failed.
    """
    with running(spark, options, batches, checkpoint, availableNow=True) as query:
        assert query.awaitTermination(_DEADLINE_S), "the query does not end"


def await_rows(
    query: StreamingQuery,
    batches: Batches,
    wanted: Callable[[], Mapping[TopicPartition, int]],
    what: str,
) -> None:
    """Wait until a query has read up to the present result of ``wanted``.

    Raises:
        StreamingQueryException: the query failed meanwhile.
        AssertionError: it took too long.
    """
    ends = wanted()

    def there() -> bool:
        if not query.isActive:
            query.awaitTermination()  # raises the query's error
            raise AssertionError(f"the query ended by itself: {what}")
        have = ends_of(batches.found)
        return all(have.get(tp, 0) >= end for tp, end in ends.items())

    wait_until(there, timeout_s=_DEADLINE_S, what=f"the query to read on: {what}")
