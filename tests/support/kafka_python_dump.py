"""All messages of a topic of 0.8.2 by kafka-python: ``kafka_python_dump SERVERS TOPIC``.

A line of JSON each: partition, offset, and the value as text.
"""

import json
import sys

from kafka import KafkaConsumer, TopicPartition


def main(bootstrap_servers: str, topic: str) -> None:
    """Print them, up to where the logs end now."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap_servers, enable_auto_commit=False, api_version=(0, 8, 2)
    )
    tps = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
    consumer.assign(tps)
    consumer.seek_to_beginning()
    ends = consumer.end_offsets(tps)
    while any(consumer.position(tp) < end for tp, end in ends.items()):
        for records in consumer.poll(1_000).values():
            for record in records:
                row = [record.partition, record.offset, record.value.decode()]
                sys.stdout.write(json.dumps(row) + "\n")
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
