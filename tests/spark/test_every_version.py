"""The source and the sink on brokers from 0.8.0 to Kafka 4, with each version's features."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import DataFrame, SparkSession

from tests.spark.queries import committed_in_kafka
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.kraft_topics import create_topic
from tests.support.written_records import HEADERS
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings
from zkconsumer.produce.outgoing import HeadedRecord
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.spark.address import read_address

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

FIRST_MS = SystemClock().wall_ms() // 60_000 * 60_000 - 6 * 3_600_000
"""Too recent for retention, which newer brokers apply to the messages' timestamps."""
STEP_MS = 60_000
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY]


@dataclass(frozen=True, slots=True)
class VersionedBroker:
    """A broker of a version."""

    bootstrap_servers: str
    create_topic: Callable[[str], object]

    def write(self, topic: str, count: int, *, start: int = 0, headers: bool = False) -> None:
        """Write ``count`` records, a minute apart each, in a codec that changes with ``start``."""
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
        """Return a batch query."""
        named = {name.replace("__", "."): str(value) for name, value in options.items()}
        reader = spark.read.format("zkconsumer").options(**named).option("subscribe", topic)
        return reader.option("kafka.bootstrap.servers", self.bootstrap_servers).load()


def manual(version: str) -> ParameterSet:
    """Mark a version that reads and writes like another one in CI."""
    return pytest.param(version, marks=pytest.mark.versions)


BROKERS = [
    *map(manual, ("0.8.0", "0.9.0.1")),
    "0.10.2.2",
    *map(manual, ("2.8.2", "3.9.1")),
    "4.1",
]
"""Magic 0 without times, 1 with times, 2 with headers. Most other tests are on 0.8.2.2."""


@pytest.fixture(scope="module", params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Iterator[VersionedBroker]:
    """Give a broker of each version."""
    if request.param == "4.1":
        node: KraftNode = request.getfixturevalue("kraft")
        yield VersionedBroker(node.bootstrap_servers, partial(create_topic, node))
    else:
        broker_of: BrokerOf = request.getfixturevalue("broker_of")
        cluster = broker_of(request.param)
        yield VersionedBroker(cluster.bootstrap_servers, cluster.create_topic)


@pytest.fixture
def version(request: pytest.FixtureRequest) -> tuple[int, ...]:
    """Return the broker's version."""
    text: str = request.node.callspec.params["broker"]
    return tuple(map(int, text.split(".")))


@pytest.fixture
def topic(broker: VersionedBroker) -> str:
    """Create a topic."""
    name = fresh_name("newer")
    broker.create_topic(name)
    return name


def offsets(frame: DataFrame) -> list[int]:
    """Return the offsets of all rows, sorted."""
    return sorted(row.offset for row in frame.select("offset").collect())


def test_rows_have_what_the_format_has(
    spark: SparkSession, broker: VersionedBroker, version: tuple[int, ...], topic: str
) -> None:
    """Timestamps exist from 0.10 on, headers from 0.11 on; otherwise they are null."""
    has_headers = version >= (0, 11)
    for start in range(0, 40, 5):
        broker.write(topic, 5, start=start, headers=has_headers and start % 10 == 0)
    rows = broker.read(spark, topic, includeHeaders=True).orderBy("offset").collect()
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
    spark: SparkSession, broker: VersionedBroker, version: tuple[int, ...], topic: str
) -> None:
    """Older brokers only know segments, and there is one, so everything is read."""
    broker.write(topic, 20)
    start_ms, end_ms = FIRST_MS + 5 * STEP_MS - 1, FIRST_MS + 11 * STEP_MS
    found = broker.read(spark, topic, startingTimestamp=start_ms, endingTimestamp=end_ms)
    exact = version >= (0, 10, 1)
    assert offsets(found) == (list(range(5, 11)) if exact else list(range(20)))
    if exact:
        behind = broker.read(spark, topic, startingTimestamp=start_ms, endingTimestamp=2**60)
        assert offsets(behind) == list(range(5, 20))


def test_a_stream_continues_where_it_stopped(
    spark: SparkSession,
    broker: VersionedBroker,
    version: tuple[int, ...],
    topic: str,
    tmp_path: Path,
) -> None:
    """Two runs read each message once; offsets are committed where brokers can store them."""
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": topic}
    group = fresh_name("g")
    commits = version >= (0, 9)
    reported = {"group.id": group, "commitOffsetsTo": "kafka"} if commits else {}
    for start in (0, 30):
        broker.write(topic, 30, start=start)
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
    if commits:
        assert committed_in_kafka(group, TopicPartition(topic, 0), read_address(options)) == 60


def test_what_is_written_is_read(spark: SparkSession, broker: VersionedBroker, topic: str) -> None:
    """The sink writes a batch, and the source reads it."""
    rows = spark.range(500).selectExpr(
        "cast(id as string) as key", "concat('value ', id) as value", f"'{topic}' as topic"
    )
    writer = rows.write.format("zkconsumer").mode("append")
    writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).save()
    found = broker.read(spark, topic).selectExpr("cast(key as string)", "cast(value as string)")
    assert sorted(map(tuple, found.collect())) == sorted(
        (f"{at}", f"value {at}") for at in range(500)
    )


def test_the_smallest_fetches_and_tasks_miss_nothing(
    spark: SparkSession, broker: VersionedBroker, topic: str
) -> None:
    """Batches are larger than a fetch, and begin before a task's range."""
    for start in range(0, 100, 25):
        broker.write(topic, 25, start=start)
    found = broker.read(
        spark, topic, kafka__max__partition__fetch__bytes=100, maxRecordsPerPartition=7
    )
    assert offsets(found) == list(range(100))
    part = {"assign": f'{{"{topic}":[0]}}'}
    reader = spark.read.format("zkconsumer").options(**part)
    some = reader.option("kafka.bootstrap.servers", broker.bootstrap_servers).options(
        startingOffsets=f'{{"{topic}":{{"0":13}}}}', endingOffsets=f'{{"{topic}":{{"0":61}}}}'
    )
    assert offsets(some.load()) == list(range(13, 61))
