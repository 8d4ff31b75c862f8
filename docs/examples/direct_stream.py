"""A program of 2015 on today's Spark: the import is all that changed.

It counts the messages of each batch by their first word and writes down the offsets of the batch
beside them. Started again, it goes on behind these, as programs on ``createDirectStream`` did to
be exactly once.

    spark-submit direct_stream.py kafka1:9092,kafka2:9092 weblog /data/counts
"""

import argparse
import json
from pathlib import Path

from pyspark import SparkContext
from pyspark.streaming import StreamingContext

# Was: from pyspark.streaming.kafka import KafkaUtils, TopicAndPartition
from zkconsumer.spark import KafkaUtils, TopicAndPartition


def save(time, rdd, target):
    """Write the counts of a batch, and its offsets, into one file."""
    counts = dict(
        rdd.map(lambda pair: (pair[1].split(" ")[0], 1)).reduceByKey(int.__add__).collect()
    )
    offsets = [[r.topic, r.partition, r.fromOffset, r.untilOffset] for r in rdd.offsetRanges()]
    # Not the time of day: an hour of it comes twice when clocks are put back.
    part = Path(target) / f"{round(time.timestamp() * 1000)}.part"
    part.write_text(json.dumps({"counts": counts, "offsets": offsets}))
    part.rename(part.with_suffix(".json"))


def landed(target):
    """Where each partition goes on; nothing at the first start."""
    ends = {}
    for file in Path(target).glob("*.json"):
        for topic, partition, _, until in json.loads(file.read_text())["offsets"]:
            place = TopicAndPartition(topic, partition)
            ends[place] = max(until, ends.get(place, 0))
    return ends


def build(ssc, brokers, topic, target):
    """Set the stream up."""
    Path(target).mkdir(parents=True, exist_ok=True)
    params = {"metadata.broker.list": brokers, "auto.offset.reset": "smallest"}
    stream = KafkaUtils.createDirectStream(ssc, [topic], params, landed(target))
    stream.foreachRDD(lambda time, rdd: save(time, rdd, target))


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="counts of first words, batch by batch")
    for name in ("brokers", "topic", "target"):
        parser.add_argument(name)
    given = parser.parse_args()
    ssc = StreamingContext(SparkContext(appName="direct stream"), 5)
    build(ssc, given.brokers, given.topic, given.target)
    ssc.start()
    ssc.awaitTermination()


if __name__ == "__main__":
    main()
