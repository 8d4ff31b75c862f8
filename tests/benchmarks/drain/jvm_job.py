"""Lands a topic as Parquet with Spark's own Kafka source: ``jvm_job JSON``.

It needs nothing but PySpark. The JSON object has the ``settings`` of the session, the ``options``
of the source, and ``into``, a folder.
"""

import json
import os
import sys

from pyspark.sql import SparkSession


def main() -> None:
    """Land a topic once."""
    requested = json.loads(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName("benchmark")
    for key, value in requested["settings"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.format("kafka").options(**requested["options"]).load()
    rows.write.parquet(requested["into"])
    spark.stop()


if __name__ == "__main__":
    main()
