"""A stream joined with a static table, and written back to the cluster under another topic.

Clicks are keyed by customer. Each gets the customer's country from a table of files; a click of a
customer who is not in the table stays, with no country. Keys keep their partitions' order: they go
where the original's own producer would put them.

    spark-submit enriched_clicks.py zk1:2181/kafka clicks clicks-by-country /data/customers \
        /data/checkpoints/clicks [--once]
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.streaming import StreamingQuery


def enriched(clicks: DataFrame, customers: DataFrame) -> DataFrame:
    """Clicks as JSON, with the customer's country."""
    named = clicks.select(
        F.col("key").cast("string").alias("customer"), F.col("value").cast("string").alias("page")
    )
    joined = named.join(F.broadcast(customers), "customer", "left")
    return joined.select(
        F.col("customer").alias("key"),
        F.to_json(F.struct("customer", "page", "country")).alias("value"),
    )


def start(
    spark: SparkSession,
    zookeeper: str,
    topics: tuple[str, str],
    folders: tuple[str, str],
    *,
    once: bool,
) -> StreamingQuery:
    """Start the query; with ``once`` it ends when all that is there now was read.

    Args:
        spark: the session.
        zookeeper: where the cluster is.
        topics: what to read, and what to write.
        folders: the table of customers, and the checkpoint.
        once: see above.
    """
    clicks = (
        spark.readStream.format("zkconsumer")
        .option("zookeeper.connect", zookeeper)
        .option("subscribe", topics[0])
        .option("startingOffsets", "earliest")
        .load()
    )
    customers = spark.read.parquet(folders[0]).select("customer", "country")
    writer = (
        enriched(clicks, customers)
        .writeStream.format("zkconsumer")
        .option("zookeeper.connect", zookeeper)
        .option("topic", topics[1])
        .option("kafka.compression.type", "snappy")
        .option("checkpointLocation", folders[1])
    )
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="10 seconds").start()


def main() -> None:
    """Run until it is stopped, or with ``--once`` until all is read."""
    parser = argparse.ArgumentParser(description="clicks joined with customers")
    for name in ("zookeeper", "source", "target", "customers", "checkpoint"):
        parser.add_argument(name)
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args()
    spark = SparkSession.builder.appName("enriched clicks").getOrCreate()
    topics, folders = (given.source, given.target), (given.customers, given.checkpoint)
    start(spark, given.zookeeper, topics, folders, once=given.once).awaitTermination()


if __name__ == "__main__":
    main()
