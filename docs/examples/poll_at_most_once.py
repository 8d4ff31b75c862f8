"""At most once: commit, then do the work. Nothing is done twice; a crash loses what was in hand.

For what may get lost but must not come again: a text message to a customer, a sample.

    python poll_at_most_once.py kafka1:9092,kafka2:9092 orders texts sent.log
"""

import argparse
from pathlib import Path
from typing import Any, TextIO

from zkconsumer import CommitFailed, ConsumerRecord, KafkaConsumer, TopicPartition

Found = dict[TopicPartition, list[ConsumerRecord]]


def work(record: ConsumerRecord, file: TextIO) -> None:
    """What is to be done with a record: here, write it down."""
    file.write(f"{record.partition} {record.offset} {record.value}\n")
    file.flush()


def committed(consumer: KafkaConsumer, found: Found) -> bool:
    """Commit what was handed out; where that is refused, go back to it if it is still ours."""
    try:
        consumer.commit()
    except CommitFailed:
        # The group rebalances. What another member has now is its work; ours comes again.
        for place, records in found.items():
            if place in consumer.assignment():
                consumer.seek(place, records[0].offset)
        return False
    return True


def run(brokers: str, topic: str, group: str, target: str, **settings: Any) -> None:
    """Consume until it is stopped."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=brokers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=100,  # so many are lost at most, of each crash
        value_deserializer=bytes.decode,
        **settings,
    )
    with consumer, Path(target).open("a") as file:
        while True:
            found = consumer.poll(timeout_ms=1000)
            if found and committed(consumer, found):
                for records in found.values():
                    for record in records:
                        work(record, file)


def main() -> None:
    """Run until it is stopped."""
    parser = argparse.ArgumentParser(description="each record at most once")
    for name in ("brokers", "topic", "group", "target"):
        parser.add_argument(name)
    run(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
