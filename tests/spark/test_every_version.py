"""The source and the sink on brokers from 0.8.0 to Kafka 4: what came with them is there, too."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import DataFrame, SparkSession

from tests.spark.queries import committed_in_kafka
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.written_records import HEADERS
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings, HeadedRecord
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.spark.address import read_address

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

FIRST_MS = SystemClock().wall_ms() // 60_000 * 60_000 - 6 * 3_600_000
"""Younger than what retention deletes, which newer brokers reckon by the messages' times."""
STEP_MS = 60_000
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY]


@dataclass(frozen=True, slots=True)
class Place:
    """A broker of some version."""

    bootstrap_servers: str
    create_topic: Callable[[str], object]

    def write(self, topic: str, count: int, *, start: int = 0, headers: bool = False) -> None:
        """Write so many records, a minute apart each, in a codec that changes every time."""
        brokers = parse_bootstrap("brokers", self.bootstrap_servers)
        settings = BatchSettings(codec=CODECS[start % len(CODECS)])
        records = [
            Record(0, b"k", b"%d" % at, FIRST_MS + at * STEP_MS, TimestampType.CREATE_TIME)
            for at in range(start, start + count)
        ]
        made = [HeadedRecord(record, HEADERS) if headers else record for record in records]
        with closing(BatchProducer(brokers, settings=settings)) as producer:
            producer.write({TopicPartition(topic, 0): made})

    def read(self, spark: SparkSession, topic: str, **options: object) -> DataFrame:
        """A batch query."""
        named = {name.replace("__", "."): str(value) for name, value in options.items()}
        reader = spark.read.format("zkconsumer").options(**named).option("subscribe", topic)
        return reader.option("kafka.bootstrap.servers", self.bootstrap_servers).load()


def by_hand(version: str) -> ParameterSet:
    """A version that reads and writes as another one does that CI has."""
    return pytest.param(version, marks=pytest.mark.versions)


PLACES = [
    *map(by_hand, ("0.8.0", "0.9.0.1")),
    "0.10.2.2",
    *map(by_hand, ("2.8.2", "3.9.1")),
    "4.1",
]
"""Magic 0 without times, 1 with them, 2 with headers. Most other tests are on 0.8.2.2."""


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each of them."""
    if request.param == "4.1":
        node: KraftNode = request.getfixturevalue("kraft")
        yield Place(node.bootstrap_servers, node.create_topic)
    else:
        broker_of: BrokerOf = request.getfixturevalue("broker_of")
        cluster = broker_of(request.param)
        yield Place(cluster.bootstrap_servers, cluster.create_topic)


@pytest.fixture
def version(request: pytest.FixtureRequest) -> tuple[int, ...]:
    """That of the place."""
    text: str = request.node.callspec.params["place"]
    return tuple(map(int, text.split(".")))


@pytest.fixture
def topic(place: Place) -> str:
    """A fresh one."""
    name = fresh_name("newer")
    place.create_topic(name)
    return name


def offsets(frame: DataFrame) -> list[int]:
    """Of all rows, in order."""
    return sorted(row.offset for row in frame.select("offset").collect())


def test_rows_have_what_the_format_has(
    spark: SparkSession, place: Place, version: tuple[int, ...], topic: str
) -> None:
    """Timestamps from 0.10 on, headers from 0.11 on; else null."""
    has_headers = version >= (0, 11)
    for start in range(0, 40, 5):
        place.write(topic, 5, start=start, headers=has_headers and start % 10 == 0)
    rows = place.read(spark, topic, includeHeaders=True).orderBy("offset").collect()
    assert [(row.offset, row.key, row.value) for row in rows] == [
        (at, b"k", b"%d" % at) for at in range(40)
    ]
    has_time = version >= (0, 10)
    assert {row.timestampType for row in rows} == {0 if has_time else -1}
    for row in rows:
        when = datetime.fromtimestamp((FIRST_MS + row.offset * STEP_MS) / 1000, UTC)
        reported = row.timestamp and row.timestamp.astimezone(UTC)
        assert reported == (when if has_time else None)
        wanted = HEADERS if has_headers and row.offset // 5 % 2 == 0 else None
        assert (row.headers and tuple(map(tuple, row.headers))) == wanted


def test_times_are_exact_where_messages_have_them(
    spark: SparkSession, place: Place, version: tuple[int, ...], topic: str
) -> None:
    """Before, they stand for segments, of which there is one: all of it."""
    place.write(topic, 20)
    start_ms, end_ms = FIRST_MS + 5 * STEP_MS - 1, FIRST_MS + 11 * STEP_MS
    found = place.read(spark, topic, startingTimestamp=start_ms, endingTimestamp=end_ms)
    exact = version >= (0, 10, 1)
    assert offsets(found) == (list(range(5, 11)) if exact else list(range(20)))
    if exact:
        behind = place.read(spark, topic, startingTimestamp=start_ms, endingTimestamp=2**60)
        assert offsets(behind) == list(range(5, 20))


def test_a_stream_goes_on_where_it_was(
    spark: SparkSession, place: Place, version: tuple[int, ...], topic: str, tmp_path: Path
) -> None:
    """Two runs of it, and each message once; where brokers keep offsets, its group is told."""
    options = {"kafka.bootstrap.servers": place.bootstrap_servers, "subscribe": topic}
    group = fresh_name("g")
    tells = version >= (0, 9)
    reported = {"group.id": group, "commitOffsetsTo": "kafka"} if tells else {}
    for start in (0, 30):
        place.write(topic, 30, start=start)
        stream = spark.readStream.format("zkconsumer").options(**options, **reported)
        query = (
            stream.option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", 20)
            .load()
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "rows"))
        )
        assert query.awaitTermination(120)
    assert offsets(spark.read.parquet(str(tmp_path / "rows"))) == list(range(60))
    if tells:
        assert committed_in_kafka(group, TopicPartition(topic, 0), read_address(options)) == 60


def test_what_is_written_is_read(spark: SparkSession, place: Place, topic: str) -> None:
    """By the sink of a batch, and by that of a stream's batches."""
    rows = spark.range(500).selectExpr(
        "cast(id as string) as key", "concat('value ', id) as value", f"'{topic}' as topic"
    )
    writer = rows.write.format("zkconsumer").mode("append")
    writer.option("kafka.bootstrap.servers", place.bootstrap_servers).save()
    found = place.read(spark, topic).selectExpr("cast(key as string)", "cast(value as string)")
    assert sorted(map(tuple, found.collect())) == sorted(
        (f"{at}", f"value {at}") for at in range(500)
    )


def test_the_smallest_fetches_and_tasks_miss_nothing(
    spark: SparkSession, place: Place, topic: str
) -> None:
    """Batches are larger than a fetch, and begin in front of a task's range."""
    for start in range(0, 100, 25):
        place.write(topic, 25, start=start)
    found = place.read(
        spark, topic, kafka__max__partition__fetch__bytes=100, maxRecordsPerPartition=7
    )
    assert offsets(found) == list(range(100))
    part = {"assign": f'{{"{topic}":[0]}}'}
    reader = spark.read.format("zkconsumer").options(**part)
    some = reader.option("kafka.bootstrap.servers", place.bootstrap_servers).options(
        startingOffsets=f'{{"{topic}":{{"0":13}}}}', endingOffsets=f'{{"{topic}":{{"0":61}}}}'
    )
    assert offsets(some.load()) == list(range(13, 61))
