"""Streaming queries of tests: what they brought, batch by batch, and whether that is all, once."""

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
    """All rows of a frame with the columns of the source."""
    return [
        (TopicPartition(row.topic, row.partition), row.offset, bytes(row.value))
        for row in frame.select(*COLUMNS).collect()
    ]


def ends_of(found: Found) -> dict[TopicPartition, int]:
    """One past the largest offset of every partition."""
    ends: dict[TopicPartition, int] = {}
    for tp, offset, _ in found:
        ends[tp] = max(ends.get(tp, 0), offset + 1)
    return ends


def assert_all_once(found: Found, acknowledged: Acknowledged) -> None:
    """Every offset from 0 on is there once, and what was acknowledged lies at its offset."""
    offsets: dict[TopicPartition, list[int]] = {}
    for tp, offset, _ in found:
        offsets.setdefault(tp, []).append(offset)
    for tp, end in ends_of(found).items():
        assert sorted(offsets[tp]) == list(range(end)), tp
    values = {(tp, offset): value for tp, offset, value in found}
    missed = {
        (tp, offset)
        for tp, of_tp in acknowledged.items()
        for offset, value in of_tp.items()
        if values.get((tp, offset)) != value
    }
    assert missed == set()


class Batches:
    """What ``foreachBatch`` was given. A batch that is done again replaces what it brought before.

    Thread: any.
    """

    def __init__(self) -> None:
        self._found: dict[int, Found] = {}

    def take(self, frame: DataFrame, number: int) -> None:
        """Keep a batch."""
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
    """A query while inside; ``trigger`` as for Spark, one batch after the other without."""
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
    """Read what is there now.

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
    """Wait until a query has read up to the offsets that ``wanted`` gives now.

    Raises:
        StreamingQueryException: the query failed meanwhile.
        AssertionError: it took too long.
    """
    ends = wanted()

    def there() -> bool:
        if not query.isActive:
            query.awaitTermination()  # raises what it failed with
            raise AssertionError(f"the query ended by itself: {what}")
        have = ends_of(batches.found)
        return all(have.get(tp, 0) >= end for tp, end in ends.items())

    wait_until(there, timeout_s=_DEADLINE_S, what=f"the query to read on: {what}")
