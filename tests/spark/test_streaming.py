"""Streaming queries on a real cluster read each message once, also after a failure."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.queries import Topic, batch_sizes, landed, rows_of
from tests.support.waiting import wait_until
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Give an empty topic of two partitions."""
    topic = Topic(cluster, 2)
    yield topic
    topic.close()


def test_available_now_reads_what_is_there_in_batches(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """No batch is larger than the limit; the next run continues where the last one ended."""
    topic.write(40, codec=Codec.SNAPPY)
    topic.write(30, partition=0)
    first = topic.drain(spark, tmp_path, {"maxOffsetsPerTrigger": 50})
    # The limit is split in proportion: partitions with 70 and 40 messages get 31 and 18 of 50.
    assert batch_sizes(first) == [49, 49, 12]
    assert landed(spark, tmp_path) == topic.rows
    assert batch_sizes(topic.drain(spark, tmp_path)) == []
    topic.write(5)
    assert batch_sizes(topic.drain(spark, tmp_path)) == [10]
    assert landed(spark, tmp_path) == topic.rows


def test_a_query_reads_on_as_messages_come(
    spark: SparkSession, topic: Topic, checkpoint: str
) -> None:
    """It starts at the end if told so, and its progress says where the logs end."""
    topic.write(10)
    source = topic.stream(spark, {"startingOffsets": "latest"})
    query = (
        source.writeStream.format("memory")
        .queryName("coming")
        .option("checkpointLocation", checkpoint)
        .start()
    )
    try:
        wait_until(lambda: query.lastProgress is not None, timeout_s=60, what="the first batch")
        topic.write(7)
        rows = [row for row in topic.rows if row[1] >= 10]
        wait_until(
            lambda: rows_of(spark.table("coming")) == rows, timeout_s=60, what="the new rows"
        )
        wait_until(
            lambda: latest_of(query) == f"{{{topic.name}:{{0:17,1:17}}}}",
            what="the latest offsets",
        )
    finally:
        query.stop()


def latest_of(query: StreamingQuery) -> str:
    """Return the latest offsets of the query's progress, without quotes and blanks."""
    progress = query.lastProgress
    assert progress is not None
    latest = progress.sources[0].latestOffset
    return "".join(str(latest).replace('"', "").split())


class _DiesOnce:
    """A sink whose first batch fails, once."""

    def __init__(self, folder: Path) -> None:
        self._died = folder / "died"
        self._rows = str(folder / "rows")

    def __call__(self, frame: DataFrame, _batch_id: int) -> None:
        if not self._died.exists():
            self._died.touch()
            raise RuntimeError("dies in the first batch")
        frame.write.mode("append").parquet(self._rows)


def test_a_query_that_dies_in_its_first_batch_starts_where_it_started(
    spark: SparkSession, topic: Topic, tmp_path: Path, checkpoint: str
) -> None:
    """This holds even for "latest", which is higher by then: no message in between is lost."""
    topic.write(10)

    def run() -> None:
        source = topic.stream(spark, {"startingOffsets": "latest"})
        writer = source.writeStream.foreachBatch(_DiesOnce(tmp_path))
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()

    with pytest.raises(StreamingQueryException, match="dies in the first batch"):
        run()
    topic.write(10)
    run()
    assert landed(spark, tmp_path) == [row for row in topic.rows if row[1] >= 10]


def test_a_repeated_batch_has_the_same_rows(
    spark: SparkSession, topic: Topic, tmp_path: Path, checkpoint: str
) -> None:
    """Messages that came since belong to the next batch."""
    topic.write(10)

    def run() -> list[int]:
        writer = topic.stream(spark).writeStream.foreachBatch(_DiesOnce(tmp_path))
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        return batch_sizes(query)

    with pytest.raises(StreamingQueryException, match="dies in the first batch"):
        run()
    topic.write(5)
    assert run() == [20, 10]
    assert landed(spark, tmp_path) == topic.rows
