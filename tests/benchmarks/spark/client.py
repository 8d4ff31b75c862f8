"""Runs a long-lived Spark session: each line of input is a task in JSON, each output line a result.

It is the same program for both sources, so it needs nothing but PySpark. Its argument is a JSON
object with the ``settings`` of the session, and ``register``, a module with a ``DefaultSource``.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, length, lit
from pyspark.sql.functions import sum as sum_of

BY_FUNCTION = "zkconsumer.spark.read"
"""Given instead of a format: read with this function, which needs no Python data sources."""


def main() -> None:
    """Start the session, then run tasks until the standard input ends."""
    given = json.loads(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("benchmark")
    for key, value in given["settings"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if given["register"]:
        spark.dataSource.register(importlib.import_module(given["register"]).DefaultSource)
    respond({"spark": spark.version})
    for line in sys.stdin:
        respond(work(spark, json.loads(line)))


def work(spark: SparkSession, given: dict[str, Any]) -> dict[str, object]:
    """Read a topic once and return the result; only the read itself is timed."""
    load = loader(spark, given)
    began = time.perf_counter()
    rows = load()
    if given["into"]:
        rows.write.mode("overwrite").parquet(given["into"])
        return {"seconds": time.perf_counter() - began}
    [found] = aggregate(rows).collect()
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "records": found[0], "value_bytes": found[1]}


def loader(spark: SparkSession, given: dict[str, Any]) -> Callable[[], DataFrame]:
    """Return a function that loads the rows; import what it needs before the clock starts."""
    if given["format"] == BY_FUNCTION:
        read = importlib.import_module("zkconsumer.spark").read
        return lambda: read(spark, **given["options"])
    reader = spark.read.format(given["format"]).options(**given["options"])
    if given["columns"]:
        reader = reader.schema(given["columns"])
    return reader.load


def aggregate(rows: DataFrame) -> DataFrame:
    """Return the number of rows, and the sum of the lengths of their values."""
    return rows.agg(count(lit(1)), sum_of(length("value")))


def respond(what: dict[str, object]) -> None:
    """Print a result as a line of JSON."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
