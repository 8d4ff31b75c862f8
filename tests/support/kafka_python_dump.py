"""Prints all messages of a topic on 0.8.2, with kafka-python: ``kafka_python_dump SERVERS TOPIC``.

Each message is a line of JSON: partition, offset, and the value as text.
"""

import json
import sys

from kafka import KafkaConsumer, TopicPartition


def main(bootstrap_servers: str, topic: str) -> None:
    """Print all messages up to the present ends of the logs."""
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
