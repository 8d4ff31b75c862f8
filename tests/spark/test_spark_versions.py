"""One program runs on every Spark from 3.4 on: ``make test-spark-versions``."""

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tests.spark.queries import Topic, rows_of
from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark import programs, read, stream, write
from zkconsumer.spark.compat import HAS_READ_LIMITS, HAS_SOURCES
from zkconsumer.spark.rows import spark_schema

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

needs_sources = pytest.mark.skipif(not HAS_SOURCES, reason="this Spark knows no Python sources")
without_read_limits = pytest.mark.skipif(
    not HAS_SOURCES or HAS_READ_LIMITS, reason="this Spark tells a source of its trigger"
)
without_sources = pytest.mark.skipif(HAS_SOURCES, reason="this Spark knows Python sources")


@pytest.fixture
def topic(cluster: Sandbox) -> Iterator[Topic]:
    """Give an empty topic of two partitions."""
    topic = Topic(cluster, 2)
    yield topic
    topic.close()


# On 3.4 and 3.5 "own" is what "mapped" is elsewhere: so CI covers them without such a Spark.
WAYS = ["own", "mapped"] if HAS_READ_LIMITS else ["own"]
# ``test_streaming`` covers our streams on Spark's own engine.
STREAM_WAYS = ["mapped"] if HAS_READ_LIMITS else WAYS
# ``test_batch`` and ``test_sink`` cover batches by Spark's own sources.
BATCH_WAYS = (
    [pytest.param("own", marks=pytest.mark.versions), "mapped"] if HAS_READ_LIMITS else WAYS
)
each_way = pytest.mark.parametrize("way", WAYS, indirect=True)
each_way_of_batches = pytest.mark.parametrize("way", BATCH_WAYS, indirect=True)
each_way_of_streams = pytest.mark.parametrize("way", STREAM_WAYS, indirect=True)


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use this Spark's interface, or that of a Spark without Python sources, which works on all."""
    name: str = request.param
    if name == "mapped":
        monkeypatch.setattr(programs, "HAS_SOURCES", False)
        monkeypatch.setattr(programs, "HAS_READ_LIMITS", False)
    return name


def options_of(topic: Topic, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return options to read all of the topic, and more."""
    return topic.options(more)


SECRET = {"kafka.client.id": "latest to nobody"}


class Landing:
    """Batches as files: each in a folder of its number, so that a repeated one is there once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "rows"
        self.sizes: list[int] = []

    def __call__(self, frame: DataFrame, number: int) -> None:
        frame.write.mode("overwrite").parquet(str(self.folder / f"batch={number}"))
        self.sizes.append(self.of(frame.sparkSession, f"batch={number}").count())

    def of(self, spark: SparkSession, part: str = "") -> DataFrame:
        """Return the rows of all batches, or of one folder."""
        return spark.read.parquet(str(self.folder / part))

    def has(self, total: int) -> bool:
        """Tell whether so many rows were written."""
        return sum(self.sizes) == total

    def rows(self, spark: SparkSession) -> list[tuple[int, int, str]]:
        """Return all rows that were written."""
        return rows_of(self.of(spark))


@each_way_of_batches
def test_a_batch_is_the_same_on_every_version(spark: SparkSession, topic: Topic, way: str) -> None:
    """The same options give the same columns of the same types."""
    topic.write(40, codec=Codec.SNAPPY)
    found = read(spark, **options_of(topic, {"includeHeaders": True, **SECRET}), minPartitions=5)
    assert found.schema == spark_schema(include_headers=True)
    if way == "mapped" or not HAS_SOURCES:
        # Options of tasks may hold a password: no plan shows them.
        assert "latest to nobody" not in str(found._jdf.queryExecution().toString())
    assert found.rdd.getNumPartitions() >= 5
    assert rows_of(found) == topic.rows
    single = found.where("partition = 1 and offset = 7").collect()
    assert [(row.topic, bytes(row.value).decode()) for row in single] == [
        (topic.name, value)
        for partition, offset, value in topic.rows
        if (partition, offset) == (1, 7)
    ]
    times = {(row.timestamp, row.timestampType, row.headers) for row in single}
    assert times == {(None, -1, None)}
    offsets = read(spark, schema=StructType([spark_schema()["offset"]]), **options_of(topic))
    assert sorted(row.offset for row in offsets.collect()) == sorted([*range(40)] * 2)
    nothing = f'{{"{topic.name}":{{"0":0,"1":0}}}}'
    assert read(spark, endingOffsets=nothing, **options_of(topic)).collect() == []


@each_way_of_streams
@pytest.mark.usefixtures("way")
def test_a_stream_reads_what_is_there_batch_by_batch(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """No batch is larger than the limit; the next run continues where the last one ended."""
    topic.write(40)
    topic.write(30, partition=0)
    landing, checkpoint = Landing(tmp_path), str(tmp_path / "checkpoint")
    options = options_of(topic, {"maxOffsetsPerTrigger": 50})
    for expected in ([49, 49, 12], []):
        landing.sizes.clear()
        stream(spark, write=landing, checkpoint=checkpoint, available_now=True, **options)
        assert [size for size in landing.sizes if size] == expected
    topic.write(5)
    stream(spark, write=landing, checkpoint=checkpoint, available_now=True, **options)
    assert landing.rows(spark) == topic.rows


@each_way
@pytest.mark.usefixtures("way")
def test_a_stream_that_is_stopped_completes_its_batch(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """Spark itself would interrupt the batch; the next run reads the rest."""
    topic.write(40)
    landing, checkpoint = Landing(tmp_path), str(tmp_path / "checkpoint")
    begun, asked = Event(), Event()

    def slow(rows: DataFrame, number: int) -> None:
        begun.set()
        # Our own engine doesn't call ``stopped`` during a batch.
        asked.wait(3)
        landing(rows, number)

    def stopped() -> bool:
        if begun.is_set():
            asked.set()
        return begun.is_set()

    options = options_of(topic, {"maxOffsetsPerTrigger": 10})
    stream(spark, write=slow, checkpoint=checkpoint, stopped=stopped, **options)
    assert 0 < sum(landing.sizes) <= 10
    stream(spark, write=landing, checkpoint=checkpoint, available_now=True, **options)
    assert landing.rows(spark) == topic.rows


@pytest.mark.versions
@each_way_of_streams
@pytest.mark.usefixtures("way")
def test_a_stream_that_dies_in_its_first_batch_starts_where_it_started(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """This holds even for "latest", which is higher by then; new messages are another batch."""
    topic.write(10)
    landing, checkpoint = Landing(tmp_path), str(tmp_path / "checkpoint")
    numbers: list[int] = []

    def die(_rows: DataFrame, number: int) -> None:
        numbers.append(number)
        raise RuntimeError("dies in the first batch")

    options = options_of(topic, {"startingOffsets": "latest"})
    with pytest.raises(Exception, match="dies in the first batch"):
        stream(spark, write=die, checkpoint=checkpoint, available_now=True, **options)
    topic.write(10)
    stream(spark, write=landing, checkpoint=checkpoint, available_now=True, **options)
    assert numbers == [0]
    assert landing.rows(spark) == [row for row in topic.rows if row[1] >= 10]


@pytest.mark.versions
@each_way_of_streams
@pytest.mark.usefixtures("way")
def test_a_stream_reads_on_until_it_is_stopped(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """It reads messages that come while it runs, and no batch exceeds the limit."""
    topic.write(60)
    landing = Landing(tmp_path)
    came: list[int] = []

    def stopped() -> bool:
        if sum(landing.sizes) == 120 and not came:
            came.append(1)
            topic.write(7)
        return sum(landing.sizes) == 134

    options = options_of(topic, {"maxOffsetsPerTrigger": 50})
    checkpoint = str(tmp_path / "checkpoint")
    stream(spark, write=landing, checkpoint=checkpoint, stopped=stopped, interval_ms=100, **options)
    assert max(landing.sizes) <= 50
    assert landing.rows(spark) == topic.rows


@pytest.mark.versions
@needs_sources
def test_a_checkpoint_goes_on_under_the_other_engine(
    spark: SparkSession, topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream moves from Spark 3 to 4, and back."""
    landing, checkpoint = Landing(tmp_path), str(tmp_path / "checkpoint")
    options = options_of(topic)
    for turn in range(4):
        topic.write(10)
        monkeypatch.setattr(programs, "HAS_READ_LIMITS", turn % 2 == 1)
        monkeypatch.setattr(programs, "HAS_SOURCES", turn % 2 == 1)
        stream(spark, write=landing, checkpoint=checkpoint, available_now=True, **options)
    assert [size for size in landing.sizes if size] == [20] * 4
    assert landing.rows(spark) == topic.rows


@pytest.mark.versions
@needs_sources
def test_a_query_of_sparks_own_engine_keeps_its_limit(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """Even if Spark passes no limit to the source; the query continues at its checkpoint."""
    topic.write(60)
    landing = Landing(tmp_path)
    rows = spark.readStream.format("zkconsumer").options(
        **options_of(topic, {"maxOffsetsPerTrigger": 50})
    )
    for total in (120, 134):
        started = (
            rows.load()
            .writeStream.foreachBatch(landing)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        query = started.start()
        try:
            wait_until(partial(landing.has, total), timeout_s=90, what="all rows")
            assert query.exception() is None
        finally:
            query.stop()
        topic.write(7)
    assert max(landing.sizes) <= 50
    assert landing.rows(spark) == [row for row in topic.rows if row[1] < 67]


@pytest.mark.versions
@needs_sources
def test_filters_limit_fetches_if_spark_passes_them_on(spark: SparkSession, topic: Topic) -> None:
    """Spark passes them on from 4.1 on, if set so; the rows are the same with each."""
    session = spark.newSession()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    topic.write(40)
    filtered = topic.read(session).filter("partition = 1 and offset >= 7")
    assert rows_of(filtered) == [row for row in topic.rows if row[0] == 1 and row[1] >= 7]
    passes_filters = find_spec("pyspark.sql.worker.data_source_pushdown_filters") is not None
    assert filtered.rdd.getNumPartitions() == (1 if passes_filters else 2)


@pytest.mark.versions
@each_way
@pytest.mark.usefixtures("way")
def test_a_stream_waits_for_its_minimum_and_no_longer_than_its_delay(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """The first batch is never delayed; a batch below the minimum comes when the delay is over."""
    topic.write(5)
    landing, now_ms, delay_s = Landing(tmp_path), SystemClock().now_ms, 15
    began, came = now_ms(), list[int]()

    def stopped() -> bool:
        if not came and sum(landing.sizes) == 10:
            came.append(now_ms())
            topic.write(3)
        elif len(came) == 1 and sum(landing.sizes) == 16:
            came.append(now_ms())
            topic.write(20)
        return sum(landing.sizes) == 56

    options = options_of(topic, {"minOffsetsPerTrigger": 20, "maxTriggerDelay": f"{delay_s}s"})
    checkpoint = str(tmp_path / "checkpoint")
    stream(spark, write=landing, checkpoint=checkpoint, stopped=stopped, interval_ms=100, **options)
    assert [size for size in landing.sizes if size] == [10, 6, 40]
    assert came[1] - began >= 1_000 * delay_s
    assert landing.rows(spark) == topic.rows


def read_now(rows: DataFrame, landing: Landing, checkpoint: Path) -> StreamingQuery:
    """Run a stream with ``availableNow`` on Spark's own engine until its end."""
    writing = rows.writeStream.foreachBatch(landing).trigger(availableNow=True)
    query = writing.option("checkpointLocation", str(checkpoint)).start()
    assert query.awaitTermination(120)
    return query


@pytest.mark.versions
@needs_sources
def test_a_query_without_trigger_information_warns_and_ends_after_one_batch(
    spark: SparkSession, topic: Topic, tmp_path: Path, spark_log: Path
) -> None:
    """So it is before Spark 4.2; later ones read all that is there, and report the end offsets."""
    topic.write(60)
    landing, before = Landing(tmp_path), spark_log.stat().st_size
    rows = topic.stream(spark, {"maxOffsetsPerTrigger": 50})
    query = read_now(rows, landing, tmp_path / "checkpoint")
    sizes = [size for size in landing.sizes if size]
    # It is JSON, or Python's representation of it.
    latest = ast.literal_eval(query.recentProgress[0]["sources"][0]["latestOffset"] or "None")
    ends = sum(latest[topic.name].values()) if latest else 0
    warned = b"the query ends after one batch of that size" in spark_log.read_bytes()[before:]
    assert max(sizes) <= 50
    if HAS_READ_LIMITS:
        assert (sum(sizes), ends, warned) == (120, 120, False)
    else:
        assert (len(sizes), ends <= 50, warned) == (1, True, True)


@pytest.mark.versions
@without_read_limits
def test_a_query_whose_end_is_requested_too_early_is_refused(
    spark: SparkSession, topic: Topic, tmp_path: Path
) -> None:
    """Spark's wrapper of availableNow does so: rows would be lost, or come twice.

    ``stream`` continues from the same checkpoint.
    """
    topic.write(60)
    landing, checkpoint = Landing(tmp_path), tmp_path / "checkpoint"
    limit = {"maxOffsetsPerTrigger": 50}
    read_now(topic.stream(spark, limit), landing, checkpoint)
    before = list(landing.sizes)
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.triggerAvailableNowWrapper.enabled", "true")
    with pytest.raises(Exception, match=r"triggerAvailableNowWrapper\.enabled"):
        read_now(topic.stream(session, limit), landing, checkpoint)
    assert landing.sizes == before
    stream(
        spark,
        write=landing,
        checkpoint=str(checkpoint),
        available_now=True,
        **options_of(topic, limit),
    )
    assert landing.rows(spark) == topic.rows


@each_way_of_batches
@pytest.mark.usefixtures("way")
def test_rows_that_were_written_are_read(spark: SparkSession, cluster: Sandbox) -> None:
    """Other columns are ignored; a row whose partition doesn't exist fails the query."""
    name = fresh_name("versions")
    cluster.create_topic(name, partitions=2)
    address: dict[str, Any] = {"zookeeper.connect": cluster.zookeeper_connect}
    rows = spark.range(300).selectExpr(
        "cast(id as string) key", "concat('value ', id) value", "interval 3 days as let_be"
    )
    write(rows, topic=name, **address)
    found = read(spark, subscribe=name, **address)
    texts = found.selectExpr("cast(key as string)", "cast(value as string)").collect()
    assert sorted(map(tuple, texts)) == sorted((f"{at}", f"value {at}") for at in range(300))
    with pytest.raises(Exception, match="partition 9 of topic"):
        write(rows.selectExpr("value", "9 as partition"), topic=name, **address)


@pytest.mark.versions
@needs_sources
def test_a_stream_is_written(spark: SparkSession, topic: Topic, tmp_path: Path) -> None:
    """A streaming query's sink writes each row once."""
    topic.write(30)
    name = fresh_name("versions")
    topic.cluster.create_topic(name, partitions=2)
    query = (
        topic.stream(spark)
        .drop("topic")
        .writeStream.format("zkconsumer")
        .options(**{"zookeeper.connect": topic.cluster.zookeeper_connect, "topic": name})
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    found = read(spark, **options_of(topic, {"subscribe": name}))
    assert rows_of(found) == topic.rows


@each_way_of_batches
@pytest.mark.usefixtures("way")
def test_errors_are_raised_before_any_task(spark: SparkSession, topic: Topic) -> None:
    """Wrong options, columns and topics are refused."""
    with pytest.raises(Exception, match="failOnDataLoss is 'maybe'"):
        read(spark, **options_of(topic, {"failOnDataLoss": "maybe"})).collect()
    with pytest.raises(Exception, match="there is no column 'nothing'"):
        read(spark, schema=StructType().add("nothing", "string"), **options_of(topic)).collect()
    with pytest.raises(Exception, match="the cluster has no topic nowhere"):
        write(spark.range(1).selectExpr("'a' value"), **options_of(topic, {"topic": "nowhere"}))


@without_sources
def test_the_format_is_refused_in_one_line(spark: SparkSession, topic: Topic) -> None:
    """The error names the function to call instead."""
    with pytest.raises(ConfigError, match=r"on this one use zkconsumer\.spark\.read\(spark"):
        topic.read(spark)
    with pytest.raises(ConfigError, match=r"use zkconsumer\.spark\.stream\(spark"):
        topic.stream(spark)
    with pytest.raises(ConfigError, match=r"use zkconsumer\.spark\.write\(df"):
        spark.range(1).write.format("ZkConsumer")
    assert spark.read.format("parquet") is not None
