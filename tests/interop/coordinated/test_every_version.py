"""Every Kafka from 0.8 to 3.9 serves a consumer without a group; what needs a newer broker."""

import random
from collections.abc import Sequence
from contextlib import closing

import pytest

from tests.interop.traffic import Writer
from tests.support.batch_heads import heads_of
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.set_producer import Producer
from tests.support.waiting import wait_until
from tests.support.written_records import StoredFields, check_what_is_there, write_in_each_codec
from zkconsumer import KafkaConsumer
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import BrokerError, ConfigError, GroupFailed, WriteFailed
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer, BatchSettings
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.produce.topics import ensure_topic
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import VERSIONS, Sandbox

pytestmark = pytest.mark.sandbox

WITHOUT_COORDINATORS = ("0.8.0", "0.8.1.1", "0.8.2.2")
WITH_STATIC_MEMBERS = ("2.8.2", "3.9.1")
COUNT = 30
LONG_MS = 20_000


def consumer_of(cluster: Sandbox, **settings: str) -> KafkaConsumer:
    """Create a consumer that starts at the beginning."""
    return KafkaConsumer(
        config={
            "bootstrap.servers": cluster.bootstrap_servers,
            "auto.offset.reset": "earliest",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )


@pytest.mark.parametrize("version", list(VERSIONS))
def test_partitions_are_read_without_a_group(broker_of: BrokerOf, version: str) -> None:
    """Plain and compressed records arrive once and in order; positions and ends are correct."""
    cluster = broker_of(version)
    topic = fresh_name("plain")
    cluster.create_topic(topic, partitions=2)
    both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    writer = Writer(cluster)
    sent = [
        value
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY)
        for tp in both
        for value in writer.write(tp, COUNT, codec)
    ]
    writer.close()
    with consumer_of(cluster) as consumer:
        consumer.assign(both)
        found: list[tuple[int, int, str]] = []
        while len(found) < len(sent):
            for records in consumer.poll(timeout_ms=1000).values():
                found += [
                    (record.partition, record.offset, (record.value or b"").decode())
                    for record in records
                ]
        assert consumer.poll(timeout_ms=200) == {}
        assert consumer.end_offsets(both) == dict.fromkeys(both, 3 * COUNT)
        assert {tp: consumer.position(tp) for tp in both} == dict.fromkeys(both, 3 * COUNT)
        assert consumer.partitions_for_topic(topic) == {0, 1}
        assert topic in consumer.topics()
    for tp in both:
        mine = [(offset, value) for partition, offset, value in found if partition == tp.partition]
        wanted = [value for value in sent if value.startswith(f"{topic}:{tp.partition}:")]
        assert mine == list(enumerate(wanted))


@pytest.mark.parametrize("version", WITHOUT_COORDINATORS)
def test_a_group_on_a_broker_without_group_coordinators_is_refused(
    broker_of: BrokerOf, version: str
) -> None:
    """Every poll fails at once, and the error names the alternative."""
    cluster = broker_of(version)
    topic = fresh_name("groupless")
    cluster.create_topic(topic)
    with consumer_of(cluster, group_id=fresh_name("nowhere")) as consumer:
        consumer.subscribe([topic])
        for _ in range(2):
            with pytest.raises(GroupFailed, match="zookeeper_connect"):
                wait_until(lambda: consumer.poll(timeout_ms=500), timeout_s=10, what="the refusal")


@pytest.mark.parametrize("version", ["0.9.0.1", "1.1.1"])
def test_static_members_on_a_broker_too_old_for_them_are_refused(
    broker_of: BrokerOf, version: str
) -> None:
    """Joining as a dynamic member would rebalance at each restart, so it is an error instead."""
    cluster = broker_of(version)
    topic = fresh_name("static")
    cluster.create_topic(topic)
    settings = {"group_id": fresh_name("static"), "group_instance_id": "one"}
    with consumer_of(cluster, **settings, session_timeout_ms="6000") as consumer:
        consumer.subscribe([topic])
        with pytest.raises(GroupFailed, match="leave group_instance_id unset"):
            wait_until(lambda: consumer.poll(timeout_ms=500), timeout_s=10, what="the refusal")


def test_0_8_2_stores_offsets_although_it_has_no_groups(broker_of: BrokerOf) -> None:
    """A consumer that uses assign() commits to its brokers and continues from there."""
    cluster = broker_of("0.8.2.2")
    topic, group = fresh_name("kept"), fresh_name("kept")
    cluster.create_topic(topic)
    tp = TopicPartition(topic, 0)
    producer = Producer(cluster.brokers)
    producer.send(tp, [Record(0, None, b"value")] * 10)
    producer.close()
    for start, end in ((0, 4), (4, 8), (8, 10)):
        settings = {"group_id": group, "enable_auto_commit": "false", "max_poll_records": "4"}
        with consumer_of(cluster, **settings) as consumer:
            consumer.assign([tp])
            polled = wait_until(lambda: consumer.poll(timeout_ms=500), what="records")
            assert [record.offset for record in polled[tp]] == list(range(start, end))
            consumer.commit()
            assert consumer.committed(tp) == end


KEEPS = dict.fromkeys(VERSIONS, StoredFields.HEADERS) | {
    "0.8.0": StoredFields.NOTHING,
    "0.8.1.1": StoredFields.NOTHING,
    "0.8.2.2": StoredFields.NOTHING,
    "0.9.0.1": StoredFields.NOTHING,
    "0.10.2.2": StoredFields.TIMESTAMPS,
}
WITHOUT_LZ4 = ("0.8.0", "0.8.1.1")
WITH_ZSTD = ("2.8.2", "3.9.1")
IDEMPOTENT = ("0.11.0.3", "1.1.1", "2.8.2", "3.9.1")


@pytest.mark.parametrize("version", list(VERSIONS))
def test_every_version_stores_what_we_write(broker_of: BrokerOf, version: str) -> None:
    """In each codec; timestamps and headers that a broker can't store are an error."""
    cluster = broker_of(version)
    stored_fields = KEEPS[version]
    topic = fresh_name("written")
    create(cluster, topic, partitions=2)
    tp = TopicPartition(topic, 1)
    codecs = [Codec.NONE, Codec.GZIP, Codec.SNAPPY]
    codecs += [] if version in WITHOUT_LZ4 else [Codec.LZ4]
    codecs += [Codec.ZSTD] if version in WITH_ZSTD else []
    sent = write_in_each_codec(cluster.brokers, tp, stored_fields, codecs)
    with consumer_of(cluster) as consumer:
        check_what_is_there(consumer, tp, sent, stored_fields)
    if stored_fields is not StoredFields.HEADERS:
        headed = [HeadedRecord(Record(0, None, b"v"), (("h", b"1"),))]
        with pytest.raises(WriteFailed, match="has headers, which brokers before"):
            write_with(cluster, Codec.NONE, tp, headed)
    if version not in WITH_ZSTD:
        with pytest.raises(WriteFailed, match="lacks PRODUCE from version 7"):
            write_with(cluster, Codec.ZSTD, tp, [Record(0, None, b"v")])


def write_with(
    cluster: Sandbox, codec: Codec, tp: TopicPartition, records: Sequence[Outgoing]
) -> None:
    """Write records with a codec."""
    settings = BatchSettings(codec=codec)
    with closing(BatchProducer(cluster.brokers, settings=settings)) as producer:
        producer.write({tp: records})


def create(cluster: Sandbox, topic: str, partitions: int) -> None:
    """Let the brokers create a topic; check the error of those that can't."""
    dialer = dialer_of(ClientSettings(client_id="test", timeout_ms=LONG_MS))
    client = ClusterClient(
        dialer,
        cluster.brokers,
        request_timeout_ms=LONG_MS,
        retry_backoff_ms=50,
        shuffle=random.shuffle,
    )
    numbers = tuple(range(partitions))
    try:
        if cluster.kafka.startswith(("0.8", "0.9")):
            with pytest.raises(ConfigError, match=f"topic {topic} missing, and the brokers"):
                ensure_topic(client, dialer, topic, partitions, timeout_ms=LONG_MS)
            cluster.create_topic(topic, partitions=partitions)
        else:
            made = ensure_topic(client, dialer, topic, partitions, timeout_ms=LONG_MS)
            assert made == numbers
            with pytest.raises(BrokerError, match="INVALID_REPLICATION_FACTOR"):
                ensure_topic(
                    client, dialer, f"{topic}-9", 1, timeout_ms=LONG_MS, replication_factor=9
                )
        assert ensure_topic(client, dialer, topic, partitions, timeout_ms=LONG_MS) == numbers
    finally:
        client.stop()
        dialer.stop()


@pytest.mark.parametrize("version", IDEMPOTENT)
def test_an_idempotent_producer_numbers_its_batches(broker_of: BrokerOf, version: str) -> None:
    """Every batch has the producer's id, and the sequence numbers are consecutive."""
    cluster = broker_of(version)
    tp = TopicPartition(fresh_name("idempotent"), 0)
    cluster.create_topic(tp.topic)
    records = [Record(0, None, b"%d" % number) for number in range(1_000)]
    settings = BatchSettings(set_bytes=3_000, idempotent=True)
    with closing(BatchProducer(cluster.brokers, settings=settings)) as producer:
        for _ in range(2):
            written = producer.write({tp: records})
            assert sum(set_.count for set_ in written) == len(records)
    heads = heads_of(cluster, tp)
    assert len({head.producer_id for head in heads}) == 1
    assert heads[0].producer_id >= 0
    expected = 0
    for head in heads:
        assert (head.base_offset, head.base_sequence) == (expected, expected)
        expected += head.record_count
    assert expected == 2 * len(records)
