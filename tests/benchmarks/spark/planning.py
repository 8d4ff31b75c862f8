"""Measures how long it takes to plan the micro-batches of a query over many partitions."""

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from tests.benchmarks.payloads import message_sets
from tests.benchmarks.session import KAFKA, write
from tests.benchmarks.spark.sources import SETTINGS
from tests.benchmarks.topics import TIMEOUT_MS, produce
from tests.support.raw_connections import raw_connection
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.session import build_session

BATCHES = 3
VALUE_BYTES = 100
_TOPIC = "many"
_CREATE_MS = 600_000
# Thousands of logs must be created quickly.
_BROKER = {"log.index.size.max.bytes": "65536", "num.network.threads": "2"}
# Spark's names for the parts of a micro-batch, in their order of execution.
_PARTS = (
    "latestOffset",
    "walCommit",
    "getBatch",
    "queryPlanning",
    "addBatch",
    "commitOffsets",
    "triggerExecution",
)


def measure(partitions: int) -> str:
    """Run a query of ``BATCHES`` batches, each with an offset range of every partition.

    Args:
        partitions: the number of the topic's partitions.

    Returns:
        A table in Markdown: the median over the batches of each part, in milliseconds.
    """
    with Sandbox(
        kafka=KAFKA,
        brokers=1,
        heap_mb=1024,
        broker_properties=_BROKER,
        start_timeout_ms=_CREATE_MS,
    ) as sandbox:
        _fill(sandbox, partitions)
        with _spark() as spark, tempfile.TemporaryDirectory() as folder:
            batches = _run(spark, sandbox, partitions, Path(folder))
    return _table(partitions, batches)


def _fill(sandbox: Sandbox, partitions: int) -> None:
    sandbox.create_topic(_TOPIC, partitions)
    [data] = message_sets(VALUE_BYTES, Codec.NONE, records_in_each=BATCHES, count=1)
    with closing(raw_connection(sandbox.brokers[0], timeout_ms=TIMEOUT_MS)) as connection:
        for number in range(partitions):
            produce(connection, _TOPIC, number, data)
    write(f"{partitions} partitions are filled")


@contextmanager
def _spark() -> Iterator[SparkSession]:
    settings = {key: value for key, value in SETTINGS.items() if key != "spark.master"}
    spark = build_session("planning", master=SETTINGS["spark.master"], settings=settings)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _run(
    spark: SparkSession, sandbox: Sandbox, partitions: int, folder: Path
) -> list[Mapping[str, int]]:
    rows = (
        spark.readStream.format("zkconsumer")
        .option("zookeeper.connect", sandbox.zookeeper_connect)
        .option("subscribe", _TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", partitions)
        .load()
    )
    query = (
        rows.writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = []
    for progress in query.recentProgress:
        durations: Mapping[str, int] = progress["durationMs"]
        write(f"batch {progress['batchId']}: {progress['numInputRows']} rows, {durations}")
        if progress["numInputRows"]:
            found.append(durations)
    assert len(found) == BATCHES, f"{len(found)} batches had rows"
    return found


def _table(partitions: int, batches: Sequence[Mapping[str, int]]) -> str:
    """Return the table; the first batch has its own column, since it loads code for the others."""
    lines = [
        f"### A micro-batch of {partitions} partitions",
        "",
        "| part | first ms | later, median ms |",
        "|---|---:|---:|",
    ]
    for part in _PARTS:
        later = statistics.median(batch.get(part, 0) for batch in batches[1:])
        lines.append(f"| {part} | {batches[0].get(part, 0)} | {later:g} |")
    return "\n".join(lines)
