"""A streaming query as a program, for faults that would break the tests' own session.

Argument: a JSON object of ``master``, ``settings`` (Spark's), ``options`` (the source's), ``into``
(a folder, which gets a folder of Parquet files for each batch), ``checkpoint``, and ``until``: a
file whose appearance ends the query.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from tests.support.stream_batches import COLUMNS
from tests.support.waiting import wait_until
from zkconsumer.spark.session import build_session


def main() -> None:
    """Run the query until it ends."""
    requested = json.loads(sys.argv[1])
    spark = build_session("faults", master=requested["master"], settings=requested["settings"])
    into, until = requested["into"], requested["until"]

    def publish(batch: DataFrame, number: int) -> None:
        batch.select(*COLUMNS).write.parquet(f"{into}/{number}", mode="overwrite")

    stream = spark.readStream.format("zkconsumer").options(**requested["options"]).load()
    writer = stream.writeStream.foreachBatch(publish)
    writer = writer.option("checkpointLocation", requested["checkpoint"])
    query = writer.trigger(processingTime="0 seconds").start()
    wait_until(lambda: not query.isActive or Path(until).exists(), timeout_s=600, what=until)
    if query.isActive:
        query.stop()
    query.awaitTermination()  # raises the query's error
    spark.stop()


if __name__ == "__main__":
    main()
