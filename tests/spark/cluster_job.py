"""What ``test_cluster`` submits: reads a topic, and tells where and with what it was read.

Arguments: a JSON object of ``options`` (of the source), ``register`` and ``into`` (a file).
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import BarrierTaskContext
from pyspark.sql import SparkSession

_TOLD = "place string, rows long, value_bytes long"


def per_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What one task was given, and the folder of the executor that ran it."""
    rows = value_bytes = 0
    for batch in batches:
        rows += batch.num_rows
        value_bytes += sum(len(value.as_py()) for value in batch.column("value"))
    yield pa.RecordBatch.from_pydict(
        {"place": [str(Path.cwd())], "rows": [rows], "value_bytes": [value_bytes]}
    )


def executor(_: Iterable[int]) -> Iterable[tuple[str, str, str]]:
    """Where an executor is, where its package comes from, and which engine that has."""
    import zkconsumer  # noqa: PLC0415 - the executor's own, not the driver's
    from zkconsumer.records.engine import ENGINE  # noqa: PLC0415 - as above

    BarrierTaskContext.get().barrier()  # so that no executor does all of it
    yield str(Path.cwd()), str(zkconsumer.__file__), str(ENGINE)


def main() -> None:
    """Read, and write what was found into a file."""
    asked = json.loads(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    if asked["register"]:
        # Spark looks for sources on the driver's own path, where --py-files do not stand.
        from pyspark_zkconsumer import DefaultSource  # noqa: PLC0415 - only where it is wanted

        spark.dataSource.register(DefaultSource)
    cores = spark.sparkContext.parallelize(range(2), 2)
    executors = cores.barrier().mapPartitions(executor).collect()
    topic = spark.read.format("zkconsumer").options(**asked["options"]).load()
    offsets = topic.groupBy("partition").agg({"offset": "min", "*": "count"}).collect()
    tasks = topic.select("value").mapInArrow(per_task, _TOLD).collect()
    found = {
        "executors": executors,
        "counts": {str(row["partition"]): row["count(1)"] for row in offsets},
        "tasks": [row.asDict() for row in tasks],
    }
    spark.stop()
    Path(asked["into"]).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
