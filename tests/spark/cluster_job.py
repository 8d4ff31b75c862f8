"""The job that ``test_cluster`` submits: reads a topic, and reports where it was read.

Argument: a JSON object of ``options`` (of the source), ``register`` and ``into`` (a file).
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark import BarrierTaskContext
from pyspark.sql import Row, SparkSession


def per_task(rows: Iterable[Row]) -> Iterable[tuple[str, int, int]]:
    """Yield the folder of a task's executor, and the number and bytes of the task's rows."""
    lengths = [len(row["value"]) for row in rows]
    yield str(Path.cwd()), len(lengths), sum(lengths)


def executor(_: Iterable[int]) -> Iterable[tuple[str, str, str]]:
    """Yield an executor's folder, the path of its package, and the package's engine."""
    import zkconsumer  # noqa: PLC0415 - the executor's own, not the driver's
    from zkconsumer.records.engine import ENGINE  # noqa: PLC0415 - as above

    BarrierTaskContext.get().barrier()  # so that both executors take part
    yield str(Path.cwd()), str(zkconsumer.__file__), str(ENGINE)


def main() -> None:
    """Read the topic, and write a report into a file."""
    requested = json.loads(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    if requested["register"]:
        # Spark looks for sources on the driver's own path, which has no --py-files.
        from pyspark_zkconsumer import DefaultSource  # noqa: PLC0415 - only if requested

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
