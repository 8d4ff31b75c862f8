"""With ``latest``, no record of topics and partitions created after the consumer is lost."""

from contextlib import closing

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.matrix import in_matrix
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
COUNT = 20
Seen = set[tuple[int, bytes]]

each_version = in_matrix("version", ["0.10.2.2", "2.8.2", "3.9.1"], ["0.10.2.2", "3.9.1"])
each_kind = pytest.mark.parametrize(
    "kind", ["subscribe", "subscribe-group", "assign", "assign-group", "pattern", "zookeeper"]
)


def consumer_of(broker: Sandbox, topic: str, kind: str, **settings: object) -> KafkaConsumer:
    """Create a consumer of the topic, whether it exists or not."""
    given: dict[str, object] = {"metadata_max_age_ms": 300, **settings}
    if kind == "zookeeper":
        given |= {"zookeeper_connect": broker.zookeeper_connect, "group_id": fresh_name("g")}
    else:
        given["bootstrap_servers"] = broker.bootstrap_servers
    if kind.endswith("-group"):
        given |= {"group_id": fresh_name("g"), "session_timeout_ms": 6_000}
    consumer = KafkaConsumer(config=given)
    if kind.startswith("assign"):
        consumer.assign([TopicPartition(topic, number) for number in range(3)])
    elif kind == "pattern":
        consumer.subscribe(pattern=topic)
    else:
        consumer.subscribe([topic])
    return consumer


def write(broker: Sandbox, topic: str, number: int, text: bytes = b"") -> Seen:
    """Write records to a partition; return what a consumer must get."""
    values = [text + b"%d" % n for n in range(COUNT)]
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {TopicPartition(topic, number): [Record(0, None, value) for value in values]}
        )
    return {(number, value) for value in values}


def read_until(consumer: KafkaConsumer, seen: Seen, expected: Seen) -> None:
    """Poll until all that is expected has come."""

    def has_all() -> bool:
        for records in consumer.poll(100).values():
            seen.update((record.partition, record.value) for record in records)
        return seen >= expected

    wait_until(has_all, timeout_s=30, what=f"{len(expected)} records")


def poll_until_topic_is_missing(consumer: KafkaConsumer, topic: str) -> None:
    """Poll until the consumer knows that the topic does not exist."""
    metadata = consumer._parts.metadata

    def is_missing() -> bool:
        consumer.poll(50)
        return metadata.is_new(TopicPartition(topic, 0)) is True

    wait_until(is_missing, timeout_s=20, what="the first metadata")


@each_kind
@each_version
def test_a_topic_created_after_its_consumer_is_read_whole(
    broker_of: BrokerOf, version: str, kind: str
) -> None:
    """However soon its producers write; the same holds for added partitions."""
    broker, topic = broker_of(version), fresh_name("later")
    with consumer_of(broker, topic, kind) as consumer:
        poll_until_topic_is_missing(consumer, topic)
        broker.create_topic(topic, partitions=2)
        expected, seen = write(broker, topic, 0) | write(broker, topic, 1), Seen()
        read_until(consumer, seen, expected)
        broker.add_partitions(topic, 3)
        expected |= write(broker, topic, 2)
        read_until(consumer, seen, expected)
        assert seen == expected


@pytest.mark.parametrize("kind", ["subscribe", "subscribe-group", "assign", "zookeeper"])
def test_records_from_before_the_consumer_are_not_read(broker_of: BrokerOf, kind: str) -> None:
    """For partitions that existed, ``latest`` starts at the end."""
    broker, topic = broker_of("3.9.1"), fresh_name("before")
    broker.create_topic(topic, partitions=3)
    for number in range(3):
        write(broker, topic, number, b"old")
    partitions = [TopicPartition(topic, number) for number in range(3)]
    with consumer_of(broker, topic, kind) as consumer:

        def has_positions() -> bool:
            consumer.poll(50)
            return consumer.assignment() == set(partitions)

        wait_until(has_positions, timeout_s=20, what="all partitions")
        assert [consumer.position(tp) for tp in partitions] == [COUNT] * 3
        expected, seen = write(broker, topic, 1, b"new"), Seen()
        read_until(consumer, seen, expected)
        assert seen == expected


@pytest.mark.parametrize("version", ["0.10.2.2", "2.8.2"])
def test_a_subscription_creates_a_topic_only_if_allowed(version: str) -> None:
    """As in kafka-python; ``False`` works on brokers whose requests lack that flag, too."""
    with Sandbox(kafka=version, brokers=1, auto_create_topics=True) as broker:
        topic = fresh_name("made")
        with consumer_of(broker, topic, "subscribe", allow_auto_create_topics=False) as consumer:
            poll_until_topic_is_missing(consumer, topic)
            consumer.poll(500)
            assert topic not in consumer.topics()
        with consumer_of(broker, topic, "subscribe") as consumer:

            def is_there() -> bool:
                consumer.poll(50)
                return topic in consumer.topics()

            wait_until(is_there, timeout_s=20, what="the topic")
            expected, seen = write(broker, topic, 0), Seen()
            read_until(consumer, seen, expected)


def test_a_first_poll_returns_records_of_all_partitions(broker_of: BrokerOf) -> None:
    """It does not return only the partition that was decoded first."""
    broker, topic = broker_of("3.9.1"), fresh_name("first")
    broker.create_topic(topic, partitions=4)
    expected = set.union(*(write(broker, topic, number) for number in range(4)))
    for _ in range(5):
        with consumer_of(broker, topic, "subscribe", auto_offset_reset="earliest") as consumer:
            found = consumer.poll(20_000, max_records=500)
        seen = {
            (record.partition, record.value) for records in found.values() for record in records
        }
        assert seen == expected
