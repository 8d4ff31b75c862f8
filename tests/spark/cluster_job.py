"""What ``test_cluster`` submits: reads a topic, and tells where and with what it was read.

Arguments: a JSON object of ``options`` (of the source), ``register`` and ``into`` (a file).
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark import BarrierTaskContext
from pyspark.sql import Row, SparkSession


def per_task(rows: Iterable[Row]) -> Iterable[tuple[str, int, int]]:
    """The folder of the executor that ran a task, and what that task was given."""
    lengths = [len(row["value"]) for row in rows]
    yield str(Path.cwd()), len(lengths), sum(lengths)


def executor(_: Iterable[int]) -> Iterable[tuple[str, str, str]]:
    """Where an executor is, where its package comes from, and which engine that has."""
    import zkconsumer  # noqa: PLC0415 - the executor's own, not the driver's
    from zkconsumer.records.engine import ENGINE  # noqa: PLC0415 - as above

    BarrierTaskContext.get().barrier()  # so that no executor does all of it
    yield str(Path.cwd()), str(zkconsumer.__file__), str(ENGINE)


def main() -> None:
    """Read, and write what was found into a file."""
    requested = json.loads(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    if requested["register"]:
        # Spark looks for sources on the driver's own path, where --py-files do not stand.
        from pyspark_zkconsumer import DefaultSource  # noqa: PLC0415 - only where it is wanted

        spark.dataSource.register(DefaultSource)
    cores = spark.sparkContext.parallelize(range(2), 2)
    executors = cores.barrier().mapPartitions(executor).collect()
    topic = spark.read.format("zkconsumer").options(**requested["options"]).load()
    offsets = topic.groupBy("partition").agg({"offset": "min", "*": "count"}).collect()
    tasks = topic.select("value").rdd.mapPartitions(per_task).collect()
    found = {
        "executors": executors,
        "counts": {str(row["partition"]): row["count(1)"] for row in offsets},
        "tasks": tasks,
    }
    spark.stop()
    Path(requested["into"]).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
