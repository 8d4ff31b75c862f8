"""Every program in docs/examples runs on a real cluster."""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession
from pyspark.streaming import StreamingContext

from tests.support.clusters import fresh_name
from tests.support.waiting import wait_until
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PAGE = (EXAMPLES.parent / "spark-examples.md").read_text("utf-8")


def example(name: str) -> ModuleType:
    """Load a program, without running it."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Cluster:
    """A cluster in which tests create topics and write texts."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.zookeeper = sandbox.zookeeper_connect
        self.brokers = sandbox.bootstrap_servers
        self._sandbox = sandbox
        self._producer = BatchProducer(sandbox.brokers)

    def topic(self, partitions: int = 1) -> str:
        """Create a fresh topic, and return its name."""
        name = fresh_name("example")
        self._sandbox.create_topic(name, partitions=partitions)
        return name

    def write(
        self, topic: str, values: Sequence[str], *, keys: Sequence[str] = (), partition: int = 0
    ) -> None:
        """Write texts as the values of messages."""
        key_of = dict(enumerate(key.encode() for key in keys))
        records = [Record(0, key_of.get(at), text.encode()) for at, text in enumerate(values)]
        self._producer.write({TopicPartition(topic, partition): records})

    def close(self) -> None:
        """Close the producer."""
        self._producer.close()


@pytest.fixture
def here(cluster: Sandbox) -> Iterator[Cluster]:
    """Give the session's cluster."""
    wrapped = Cluster(cluster)
    yield wrapped
    wrapped.close()


def test_every_program_is_described() -> None:
    """The page names each program, and no other.

    The programs for polls and decoding have pages of their own.
    """
    elsewhere = ("poll_", "decoded_")
    assert {name for name in PAGE.split("`") if name.endswith(".py")} == {
        file.name for file in EXAMPLES.glob("*.py") if not file.name.startswith(elsewhere)
    }


def test_hourly_aggregates(spark: SparkSession, here: Cluster, tmp_path: Path) -> None:
    """Each hour is written once, when it can't change any more; a restart changes nothing."""
    run = example("hourly_aggregates")
    topic, target = here.topic(2), str(tmp_path / "hourly")
    here.write(
        topic,
        [
            "2015-05-05T10:01:00Z GET /cart 200 35ms",
            "2015-05-05T10:59:59Z GET /cart 500 1200ms",
            "not a line of that kind",
            "2015-05-05T99:99:99Z GET /cart 200 1ms",
        ],
    )
    here.write(topic, ["2015-05-05T11:00:00Z POST /pay 200 80ms"], partition=1)
    run.start(spark, here.zookeeper, topic, target, once=True).awaitTermination()
    here.write(topic, ["2015-05-05T10:58:00Z GET /cart 200 1300ms"])
    here.write(topic, ["2015-05-05T13:00:00Z GET /cart 200 5ms"], partition=1)
    for _ in range(2):
        run.start(spark, here.zookeeper, topic, target, once=True).awaitTermination()
    rows = spark.read.parquet(target).orderBy("hour", "path").collect()
    assert [(f"{row.hour:%H}", *row[1:]) for row in rows] == [
        ("10", "/cart", 3, 1, 1300),
        ("11", "/pay", 1, 0, 80),
    ]


def test_typed_json(spark: SparkSession, here: Cluster, tmp_path: Path) -> None:
    """Orders get their types; what is no order is kept apart, byte for byte, with its offset."""
    run = example("typed_json")
    topic, target = here.topic(), str(tmp_path / "orders")
    good = {
        "id": 1,
        "customer": "Zoë",
        "amount": 12.5,
        "placed_at": "2015-05-05T12:00:00Z",
    }
    bad = ['{"id": "one"}', '{"customer": "nobody"}', "", '{"id": 2', "[]"]
    here.write(topic, [json.dumps(good), *bad])
    run.start(spark, here.zookeeper, topic, target, once=True).awaitTermination()
    here.write(topic, [json.dumps({**good, "id": 3})])
    run.start(spark, here.zookeeper, topic, target, once=True).awaitTermination()
    orders = spark.read.parquet(f"{target}/orders").orderBy("id").collect()
    assert [(row.id, row.customer, row.amount) for row in orders] == [
        (1, "Zoë", Decimal("12.50")),
        (3, "Zoë", Decimal("12.50")),
    ]
    noon = datetime(2015, 5, 5, 12, tzinfo=UTC)
    assert orders[0].placed_at.astimezone(UTC) == noon
    aside = spark.read.parquet(f"{target}/bad").orderBy("offset").collect()
    assert [(row.offset, bytes(row.value).decode()) for row in aside] == [
        (offset, text) for offset, text in enumerate(bad, 1)
    ]


def test_enriched_clicks(spark: SparkSession, here: Cluster, tmp_path: Path) -> None:
    """Each click is written with its country, or without; messages of a key keep their order."""
    run = example("enriched_clicks")
    topics = here.topic(), here.topic(3)
    folders = str(tmp_path / "customers"), str(tmp_path / "checkpoint")
    table = spark.createDataFrame([("ann", "NO"), ("bo", "SE")], "customer string, country string")
    table.write.parquet(folders[0])
    here.write(topics[0], ["/1", "/2", "/3", "/4"], keys=["ann", "bo", "eve", "ann"])
    run.start(spark, here.zookeeper, topics, folders, once=True).awaitTermination()
    found = spark.read.format("zkconsumer").options(subscribe=topics[1])
    rows = found.option("zookeeper.connect", here.zookeeper).load().orderBy("offset").collect()
    by_customer: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_customer.setdefault(bytes(row.key).decode(), []).append(json.loads(row.value))
    assert by_customer == {
        "ann": [
            {"customer": "ann", "page": "/1", "country": "NO"},
            {"customer": "ann", "page": "/4", "country": "NO"},
        ],
        "bo": [{"customer": "bo", "page": "/2", "country": "SE"}],
        "eve": [{"customer": "eve", "page": "/3"}],
    }


@pytest.mark.filterwarnings("ignore:DStream is deprecated:FutureWarning")
def test_direct_stream(spark: SparkSession, here: Cluster, tmp_path: Path) -> None:
    """The old program counts each message once, and the offsets that it records have no gaps."""
    run = example("direct_stream")
    topic, target = here.topic(2), tmp_path / "counts"
    here.write(topic, ["GET /a", "POST /b", "GET /c"])
    ssc = StreamingContext(spark.sparkContext, 1)
    run.build(ssc, here.brokers, topic, str(target))

    def counted() -> dict[str, int]:
        total: dict[str, int] = {}
        for file in target.glob("*.json"):
            for word, count in json.loads(file.read_text())["counts"].items():
                total[word] = total.get(word, 0) + count
        return total

    ssc.start()
    try:
        wait_until(lambda: counted() == {"GET": 2, "POST": 1}, what="the first batch")
        here.write(topic, ["GET /d"], partition=1)
        wait_until(lambda: counted() == {"GET": 3, "POST": 1}, what="the second batch")
    finally:
        ssc.stop(stopSparkContext=False, stopGraceFully=True)
    ends = {0: 0, 1: 0}
    for file in sorted(target.glob("*.json")):
        for _, partition, start, end in json.loads(file.read_text())["offsets"]:
            assert start == ends[partition]
            ends[partition] = end
    assert ends == {0: 3, 1: 1}


def test_reprocess_ranges(spark: SparkSession, here: Cluster) -> None:
    """The program reads exactly the requested offsets."""
    run = example("reprocess_ranges")
    topic = here.topic()
    here.write(topic, [f"line {number}" for number in range(5)])
    lines = run.again(spark.sparkContext, here.brokers, [[topic, 0, 1, 4]]).collect()
    assert lines == ["0\t1\tline 1", "0\t2\tline 2", "0\t3\tline 3"]
