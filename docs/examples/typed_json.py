"""JSON messages to typed Parquet, with the bad ones kept aside instead of lost.

Each batch goes into folders of its own number, in overwrite mode: a batch that Spark runs again
after a failure replaces what it wrote before, so that every message is there exactly once.

    spark-submit typed_json.py zk1:2181/kafka orders /data/orders [--once]
"""

import argparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it
from pyspark.sql.streaming import StreamingQuery

ORDER = "id bigint, customer string, amount decimal(12,2), placed_at timestamp, _bad string"
WHERE = ("topic", "partition", "offset")


def parsed(messages: DataFrame) -> DataFrame:
    """The fields beside the bytes; ``_bad`` is set where they are no order."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad"}
    order = F.from_json(F.col("value").cast("string"), ORDER, options)
    return messages.select(*WHERE, "value", order.alias("order")).select(
        *WHERE,
        "value",
        "order.*",
        F.expr("order is null or order._bad is not null or order.id is null").alias("is_bad"),
    )


def write_batch(batch: DataFrame, batch_id: int, target: str) -> None:
    """Write one batch: orders to ``orders``, everything else to ``bad`` as it came."""
    rows = parsed(batch).persist()
    try:
        orders = rows.where("not is_bad").drop("is_bad", "_bad", "value")
        orders.write.mode("overwrite").parquet(f"{target}/orders/batch={batch_id}")
        bad = rows.where("is_bad").select(*WHERE, "value")
        bad.write.mode("overwrite").parquet(f"{target}/bad/batch={batch_id}")
    finally:
        rows.unpersist()


def start(
    spark: SparkSession, zookeeper: str, topic: str, target: str, *, once: bool
) -> StreamingQuery:
    """Start the query; with ``once`` it ends when all that is there now was read."""
    messages = (
        spark.readStream.format("zkconsumer")
        .option("zookeeper.connect", zookeeper)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 1_000_000)
        .load()
    )
    writer = messages.writeStream.option("checkpointLocation", f"{target}/_checkpoint")
    writer = writer.foreachBatch(lambda batch, number: write_batch(batch, number, target))
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="1 minute").start()


def main() -> None:
    """Run until it is stopped, or with ``--once`` until all is read."""
    parser = argparse.ArgumentParser(description="JSON messages to typed Parquet")
    parser.add_argument("zookeeper")
    parser.add_argument("topic")
    parser.add_argument("target")
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args()
    spark = SparkSession.builder.appName("typed JSON").getOrCreate()
    start(spark, given.zookeeper, given.topic, given.target, once=given.once).awaitTermination()


if __name__ == "__main__":
    main()
