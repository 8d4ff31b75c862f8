"""Log lines to hourly aggregates: requests, errors and the slowest answer of each hour and path.

Messages of 0.8 bear no time, so the time is the one in the line. An hour is written once no line of
it can come any more: ten minutes of lateness after the newest line seen.

    spark-submit hourly_aggregates.py zk1:2181/kafka weblog /data/hourly [--once]
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.streaming import StreamingQuery

LINE = r"^(\S+) (GET|POST|PUT|DELETE) (\S+) (\d{3}) (\d+)ms$"


def requests(messages: DataFrame) -> DataFrame:
    """Lines such as ``2015-05-05T12:34:56Z GET /cart 200 35ms``; what is none is dropped."""
    line = F.col("value").cast("string")
    return messages.select(
        F.try_to_timestamp(F.regexp_extract(line, LINE, 1)).alias("at"),
        F.regexp_extract(line, LINE, 3).alias("path"),
        F.regexp_extract(line, LINE, 4).alias("status"),
        F.regexp_extract(line, LINE, 5).alias("took_ms"),
    ).where("at is not null")


def hourly(lines: DataFrame) -> DataFrame:
    """One row an hour and path."""
    return (
        lines.withWatermark("at", "10 minutes")
        .groupBy(F.window("at", "1 hour").alias("hour"), "path")
        .agg(
            F.count("*").alias("requests"),
            F.count_if(F.col("status") >= "500").alias("errors"),
            F.max(F.col("took_ms").cast("int")).alias("slowest_ms"),
        )
        .select(F.col("hour.start").alias("hour"), "path", "requests", "errors", "slowest_ms")
    )


def start(
    spark: SparkSession, zookeeper: str, topic: str, target: str, *, once: bool
) -> StreamingQuery:
    """Start the query; with ``once`` it ends when all that is there now was read."""
    messages = (
        spark.readStream.format("zkconsumer")
        .option("zookeeper.connect", zookeeper)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        hourly(requests(messages))
        .writeStream.format("parquet")
        .option("path", target)
        .option("checkpointLocation", f"{target}/_checkpoint")
        .outputMode("append")
    )
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="1 minute").start()


def main() -> None:
    """Run until it is stopped, or with ``--once`` until all is read."""
    parser = argparse.ArgumentParser(description="log lines to hourly aggregates")
    parser.add_argument("zookeeper")
    parser.add_argument("topic")
    parser.add_argument("target")
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args()
    spark = SparkSession.builder.appName("hourly aggregates").getOrCreate()
    start(spark, given.zookeeper, given.topic, given.target, once=given.once).awaitTermination()


if __name__ == "__main__":
    main()
