"""Read again what came since a moment, up to what is there now: without a group, then it ends.

Partitions are assigned by hand, so nobody's offsets are touched. Times need brokers of 0.10.1.

    python poll_from_time.py kafka1:9092,kafka2:9092 orders 2026-11-20T06:00:00+01:00
"""

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from zkconsumer import ConsumerRecord, KafkaConsumer, TopicPartition


def records_since(
    brokers: str, topic: str, since: datetime, **settings: Any
) -> Iterator[ConsumerRecord]:
    """All records from that moment on that are there when this is called, partition by partition.

    The first one of each partition is as old as that or younger; behind it older ones may come,
    as producers may set any timestamp.
    """
    with KafkaConsumer(bootstrap_servers=brokers, **settings) as consumer:
        numbers = consumer.partitions_for_topic(topic)
        if numbers is None:
            raise SystemExit(f"there is no topic {topic}")
        places = [TopicPartition(topic, number) for number in sorted(numbers)]
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        starts = consumer.offsets_for_times(dict.fromkeys(places, round(since.timestamp() * 1000)))
        for place in places:
            start = starts[place]
            consumer.seek(place, ends[place] if start is None else start.offset)
        # Not the last record's offset decides, but the position: the end may hold no record, as
        # behind a transaction or where the log was compacted.
        while any(consumer.position(place) < ends[place] for place in places):
            for place, records in consumer.poll(timeout_ms=1000).items():
                yield from (record for record in records if record.offset < ends[place])


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description="records from a moment on")
    parser.add_argument("brokers")
    parser.add_argument("topic")
    parser.add_argument("since", type=datetime.fromisoformat, help="such as 2026-11-20T06:00:00Z")
    given = parser.parse_args()
    for record in records_since(given.brokers, given.topic, given.since):
        text = (record.value or b"").decode(errors="replace")
        sys.stdout.write(f"{record.timestamp}\t{record.partition}\t{record.offset}\t{text}\n")


if __name__ == "__main__":
    main()
