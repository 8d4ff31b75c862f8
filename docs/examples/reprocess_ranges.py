"""Reads ranges of offsets again, for instance those of a batch that went wrong.

spark-submit reprocess_ranges.py kafka1:9092 '[["weblog", 0, 1000, 2000]]' /data/again
"""

import argparse
import json

from pyspark import SparkContext

# Was: from pyspark.streaming.kafka import KafkaUtils, OffsetRange
from zkconsumer.spark import KafkaUtils, OffsetRange


def again(sc, brokers, ranges):
    """Lines of partition, offset and text, one a message."""
    return KafkaUtils.createRDD(
        sc,
        {"metadata.broker.list": brokers},
        [OffsetRange(*one) for one in ranges],
        messageHandler=lambda m: f"{m.partition}\t{m.offset}\t{m.message}",
    )


def main() -> None:
    """Write them as text."""
    parser = argparse.ArgumentParser(description="messages of fixed ranges, as text")
    for name in ("brokers", "ranges", "target"):
        parser.add_argument(name)
    given = parser.parse_args()
    sc = SparkContext(appName="reprocess ranges")
    again(sc, given.brokers, json.loads(given.ranges)).saveAsTextFile(given.target)


if __name__ == "__main__":
    main()
