"""Records larger than every fetch limit, on brokers that truncate responses or don't.

A broker's own limit of a message (``message.max.bytes``) is about a megabyte.
"""

from contextlib import closing

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import MessageTooLarge
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer

pytestmark = pytest.mark.sandbox
SIZES = [10, 300_000, 20, 900_000, 30]

each_generation = pytest.mark.parametrize("version", ["0.8.2.2", "0.10.2.2", "3.9.1"])


def filled(broker_of: BrokerOf, version: str) -> tuple[str, str]:
    """Create a topic with records of all ``SIZES`` in three partitions; return it, and servers."""
    broker = broker_of(version)
    topic = fresh_name("large")
    broker.create_topic(topic, partitions=3)
    with closing(BatchProducer(broker.brokers)) as producer:
        for size in SIZES:
            one = [Record(0, None, b"x" * size)]
            producer.write({TopicPartition(topic, number): one for number in range(3)})
    return topic, broker.bootstrap_servers


@each_generation
def test_records_larger_than_the_fetch_size_are_delivered(
    broker_of: BrokerOf, version: str
) -> None:
    """All come in order, and all bytes are counted."""
    topic, servers = filled(broker_of, version)
    with KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=500,
        fetch_max_bytes=1_000,
    ) as consumer:
        seen: dict[int, list[int]] = {0: [], 1: [], 2: []}

        def enough() -> bool:
            for tp, records in consumer.poll(timeout_ms=200).items():
                seen[tp.partition] += [len(record.value) for record in records]
            return sum(map(len, seen.values())) >= 3 * len(SIZES)

        wait_until(enough, timeout_s=30, what="all records")
        assert seen == dict.fromkeys(range(3), SIZES)
        metrics = consumer.metrics()["consumer-fetch-manager-metrics"]
        assert metrics["bytes-consumed-total"] == 3 * sum(SIZES)


def test_a_record_beyond_the_growth_limit_is_an_error(broker_of: BrokerOf) -> None:
    """Earlier records come first, and the caller may seek past it."""
    topic, servers = filled(broker_of, "0.8.2.2")
    with KafkaConsumer(
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=500,
        fetch_message_growth_max_bytes=400_000,
    ) as consumer:
        tp = TopicPartition(topic, 1)
        consumer.assign([tp])
        seen: list[int] = []
        with pytest.raises(MessageTooLarge, match="fetch"):
            seen.extend(record.offset for record in consumer)
        assert seen == [0, 1, 2]
        assert consumer.position(tp) == 3
        consumer.seek(tp, 4)
        assert next(consumer).offset == 4
