"""A Spark session that lives on: is given a piece of work as a line of JSON, answers with one.

The same program for both sources, so it needs nothing but PySpark. Its argument is a JSON object of
``settings`` of the session, and of ``register``, a module with a ``DefaultSource``.
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
"""In the place of a format: by that function, which reads on Sparks without sources in Python."""


def main() -> None:
    """Start, then work until the other side hangs up."""
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
    """Read a topic once; the clock stands still before and after."""
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
    """What gives the rows; all that is needed is imported."""
    if given["format"] == BY_FUNCTION:
        read = importlib.import_module("zkconsumer.spark").read
        return lambda: read(spark, **given["options"])
    reader = spark.read.format(given["format"]).options(**given["options"])
    if given["columns"]:
        reader = reader.schema(given["columns"])
    return reader.load


def aggregate(rows: DataFrame) -> DataFrame:
    """Their number, and the sum of the lengths of their values."""
    return rows.agg(count(lit(1)), sum_of(length("value")))


def respond(what: dict[str, object]) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
