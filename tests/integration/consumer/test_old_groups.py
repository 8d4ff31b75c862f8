"""Groups on 0.8.1 and 0.8.2, shared with kafka-python: each client continues after the other."""

import subprocess
import sys
from contextlib import closing

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import GroupFailed
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
EACH = 7
RECORDS = 40
THEIRS = """
import sys, kafka
servers, group, topic, version, count = sys.argv[1:]
consumer = kafka.KafkaConsumer(
    bootstrap_servers=servers, group_id=group, api_version=tuple(map(int, version.split("."))),
    auto_offset_reset="earliest", enable_auto_commit=False, consumer_timeout_ms=20000,
)
partition = kafka.TopicPartition(topic, 0)
consumer.assign([partition])
seen = []
while len(seen) < int(count):
    for records in consumer.poll(500, max_records=int(count) - len(seen)).values():
        seen += [record.offset for record in records]
consumer.commit()
print(*seen)
consumer.close()
"""
"""A program that reads and commits with kafka-python, which must be told the brokers' version."""


def filled(broker: Sandbox) -> TopicPartition:
    """Create a partition with ``RECORDS`` records."""
    tp = TopicPartition(fresh_name("old"), 0)
    broker.create_topic(tp.topic, partitions=1)
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write({tp: [Record(0, None, b"%d" % n) for n in range(RECORDS)]})
    return tp


def read_with_kafka_python(broker: Sandbox, group: str, tp: TopicPartition) -> list[int]:
    """Read ``EACH`` records with kafka-python and commit; return their offsets."""
    version = broker.kafka.rpartition(".")[0]
    reported = (broker.bootstrap_servers, group, tp.topic, version, str(EACH))
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, *reported],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def read_with_us(tp: TopicPartition, **settings: object) -> list[int]:
    """Read ``EACH`` records with our consumer and commit; return their offsets."""
    given = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **settings}
    with KafkaConsumer(config=given) as consumer:
        if "zookeeper_connect" in settings:
            consumer.subscribe([tp.topic])
        else:
            consumer.assign([tp])
        seen: list[int] = []
        while len(seen) < EACH:
            found = consumer.poll(20_000, max_records=EACH - len(seen))
            assert found, "nothing came"
            seen += [record.offset for record in found[tp]]
        consumer.commit()
        position = consumer.position(tp)
        assert consumer.committed(tp) == position == seen[-1] + 1
    return seen


def offsets_of_turn(number: int) -> list[int]:
    """Return the offsets that the n-th reader must get."""
    return list(range(number * EACH, (number + 1) * EACH))


@pytest.mark.parametrize("version", ["0.8.1.1", "0.8.2.2"])
def test_each_client_continues_where_the_other_committed(broker_of: BrokerOf, version: str) -> None:
    """0.8.2 stores the offsets in Kafka, 0.8.1 in ZooKeeper; both through the brokers' requests."""
    broker, group = broker_of(version), fresh_name("g")
    tp = filled(broker)
    settings = {"bootstrap_servers": broker.bootstrap_servers, "group_id": group}
    assert read_with_kafka_python(broker, group, tp) == offsets_of_turn(0)
    assert read_with_us(tp, **settings) == offsets_of_turn(1)
    assert read_with_kafka_python(broker, group, tp) == offsets_of_turn(2)
    assert read_with_us(tp, **settings) == offsets_of_turn(3)
    in_kafka = {"offsets_storage": "kafka"} if version == "0.8.2.2" else {}
    by_zookeeper = {"zookeeper_connect": broker.zookeeper_connect, "group_id": group, **in_kafka}
    assert read_with_us(tp, **by_zookeeper) == offsets_of_turn(4)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.8.1.1", (0, 8, 1)),
        ("0.8.2.2", (0, 8, 2)),
        ("0.9.0.1", (0, 9)),
        ("0.10.2.2", (0, 10, 2)),
        ("2.8.2", (2, 8)),
        ("3.9.1", (3, 9)),
    ],
)
def test_the_detected_release_is_in_the_config(
    broker_of: BrokerOf, version: str, release: tuple[int, ...]
) -> None:
    """It is ``api_version``, as in kafka-python; a copy of the config creates another consumer."""
    where = broker_of(version).bootstrap_servers
    with KafkaConsumer(bootstrap_servers=where, group_id=fresh_name("g")) as consumer:
        assert consumer.config["api_version"] == release
        with KafkaConsumer(config=consumer.config) as another:
            assert dict(another.config) == dict(consumer.config)
            assert another.topics() is not None


@pytest.mark.parametrize("version", ["0.8.1.1", "0.8.2.2"])
def test_members_are_referred_to_zookeeper(broker_of: BrokerOf, version: str) -> None:
    """The error names the setting that finds their committed offsets."""
    broker = broker_of(version)
    tp = filled(broker)
    with (
        KafkaConsumer(
            tp.topic, bootstrap_servers=broker.bootstrap_servers, group_id=fresh_name("g")
        ) as consumer,
        pytest.raises(GroupFailed, match=r"zookeeper_connect, with offsets_storage='kafka'"),
    ):
        consumer.poll(20_000)
