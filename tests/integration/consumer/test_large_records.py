"""Records larger than every limit of a fetch, on brokers that cut answers off and those that don't.

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

every_age = pytest.mark.parametrize("version", ["0.8.2.2", "0.10.2.2", "3.9.1"])


def filled(broker_of: BrokerOf, version: str) -> tuple[str, str]:
    """A topic of three partitions with records of these sizes, each of them; and the servers."""
    broker = broker_of(version)
    topic = fresh_name("large")
    broker.create_topic(topic, partitions=3)
    with closing(BatchProducer(broker.brokers)) as producer:
        for size in SIZES:
            one = [Record(0, None, b"x" * size)]
            producer.write({TopicPartition(topic, number): one for number in range(3)})
    return topic, broker.bootstrap_servers


@every_age
def test_they_come_all_the_same(broker_of: BrokerOf, version: str) -> None:
    """Each, and in order; and all bytes are counted."""
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


def test_beyond_what_a_fetch_may_grow_to_the_caller_is_told(broker_of: BrokerOf) -> None:
    """And may pass over it; what lies in front of it came before."""
    topic, servers = filled(broker_of, "0.8.2.2")
    with KafkaConsumer(
        bootstrap_servers=servers,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=500,
        fetch_message_growth_max_bytes=400_000,
    ) as consumer:
        place = TopicPartition(topic, 1)
        consumer.assign([place])
        seen: list[int] = []
        with pytest.raises(MessageTooLarge, match="fetch"):
            seen.extend(record.offset for record in consumer)
        assert seen == [0, 1, 2]
        assert consumer.position(place) == 3
        consumer.seek(place, 4)
        assert next(consumer).offset == 4
